"use strict";
// The one script of the studio. Every page works without it; it only saves steps.

// Buttons that copy the text of the element they name.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      getSelection().selectAllChildren(text);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// A form is sent once, however often somebody clicks.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    setTimeout(() => { delete form.dataset.sent; }, 4000);
  });
}

// Declare: show what belongs to the role and the type of a column.
for (const column of document.querySelectorAll(".declare-column")) {
  const role = column.querySelector("select[data-column=role]");
  const type = column.querySelector("select[data-column=type]");
  const unused = column.dataset.unused.split(" ");
  const follow = () => {
    const off = unused.includes(role.value);
    column.classList.toggle("unused", off);
    column.querySelector(".detail").hidden = off;
    column.querySelector("[data-typed]").hidden = off;
    for (const part of column.querySelectorAll("[data-types]")) {
      part.hidden = !part.dataset.types.split(" ").includes(type.value);
    }
    for (const part of column.querySelectorAll("[data-role]")) {
      part.hidden = part.dataset.role !== role.value;
    }
  };
  role.addEventListener("change", follow);
  type.addEventListener("change", follow);
}

// Entries that were not saved are not left behind by a wrong click.
const declared = document.getElementById("declare");
if (declared) {
  let changed = false;
  declared.addEventListener("input", () => { changed = true; });
  declared.addEventListener("submit", () => { changed = false; });
  addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
}

// Plan: the slider follows numbers that the page holds already; moving it asks for nothing.
const holder = document.getElementById("points");
if (holder) {
  const box = document.getElementById("epsilon");
  const slider = document.getElementById("slider");
  let points = JSON.parse(holder.dataset.points);
  const thin = "\u202f%";
  const write = (share) => {
    const value = 100 * share;
    return (value >= 10 ? value.toFixed(0) : value.toPrecision(2)) + thin;
  };
  const put = (id, words) => {
    const place = document.getElementById(id);
    if (place) place.textContent = words;
  };
  const between = (values, epsilon) => {
    const all = points.epsilons;
    if (epsilon <= all[0]) return values[0];
    const right = all.findIndex((e) => e >= epsilon);
    if (right < 0) return values[values.length - 1];
    const part = Math.log(epsilon / all[right - 1]) / Math.log(all[right] / all[right - 1]);
    return values[right - 1] + part * (values[right] - values[right - 1]);
  };
  const nearest = (epsilon) => {
    let best = 0;
    points.epsilons.forEach((e, k) => {
      const off = (x) => Math.abs(Math.log(x / epsilon));
      if (off(e) < off(points.epsilons[best])) best = k;
    });
    return best;
  };
  const follow = (epsilon) => {
    const all = points.epsilons;
    const share = Math.log(Math.min(Math.max(epsilon, all[0]), all[all.length - 1]) / all[0])
      / Math.log(all[all.length - 1] / all[0]);
    for (const mark of document.querySelectorAll("[data-here]")) {
      const axis = mark.closest("svg").querySelector("line.axis");
      const left = Number(axis.getAttribute("x1"));
      const x = left + share * (Number(axis.getAttribute("x2")) - left);
      mark.setAttribute("x1", x);
      mark.setAttribute("x2", x);
    }
    const grade = document.getElementById("grade");
    grade.textContent = points.grades[nearest(epsilon)];
    grade.className = "grade " + grade.textContent;
    // An upper bound is rounded upwards.
    const up = (share) => (Math.ceil(1000 * share) / 10).toFixed(1) + thin;
    put("odds", up(between(points.odds, epsilon)));
    if (points.planned.length) put("planned", up(between(points.planned, epsilon)));
    if (points.medium) {
      const kept = between(points.medium, epsilon);
      put("kept", kept > 0.99 ? "over 99" + thin : write(kept));
    }
    for (const bar of ["share", "mean"]) {
      if (points[bar]) put(bar, "± " + Number((100 * between(points[bar], epsilon)).toPrecision(2)));
    }
    if (points.after.length) {
      const after = between(points.after, epsilon);
      const fits = after <= 1;
      put("uses", fits ? "about " + write(after - points.before) : "more than is left");
      put("left", fits ? write(1 - after) : "nothing");
      const own = document.querySelector("#strip rect:last-child");
      const width = 920;
      own.setAttribute("width", Math.max(0, Math.min(after, 1) - points.before) * width);
      own.setAttribute("class", fits ? "this" : "over");
      document.querySelector(".budget-card")?.classList.toggle("over", !fits);
    }
    slider.setAttribute("aria-valuetext", "epsilon " + epsilon);
  };
  const read = () => Number(box.value.replace(",", "."));
  slider.hidden = false;
  slider.addEventListener("input", () => {
    box.value = String(points.epsilons[slider.value]);
    follow(points.epsilons[slider.value]);
  });
  box.addEventListener("input", () => {
    const epsilon = read();
    if (!(epsilon > 0)) return;
    slider.value = nearest(epsilon);
    follow(epsilon);
  });
  const offer = () => {
    for (const button of document.querySelectorAll("button[data-epsilon]")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        box.value = button.dataset.epsilon;
        box.dispatchEvent(new Event("input"));
      });
    }
  };
  offer();
  if (holder.dataset.waiting) {
    const told = new EventSource(holder.dataset.place + "/simulation");
    told.onmessage = async (event) => {
      const said = JSON.parse(event.data);
      const bar = document.getElementById("simulating");
      if (bar && said.of) { bar.max = said.of; bar.value = said.step; }
      if (!said.done) return;
      told.close();
      const answer = await fetch(holder.dataset.place + "/curves");
      if (!answer.ok) return;
      document.getElementById("foresight").innerHTML = await answer.text();
      const found = document.querySelector("#foresight > [data-points]");
      points = JSON.parse(found.dataset.points);
      if (found.dataset.smallest) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "second";
        button.dataset.epsilon = found.dataset.smallest;
        button.textContent = "Take the smallest that is good enough: " + found.dataset.smallest;
        holder.append(button);
        offer();
      }
      follow(read());
    };
  }
}

// A job that runs: stages and public steps of the plan, then the page as it is at the end.
const job = document.getElementById("job");
if (job && job.dataset.events) {
  const told = new EventSource(job.dataset.events);
  const stages = [...document.querySelectorAll("#stages li")];
  told.onmessage = (event) => {
    const said = JSON.parse(event.data);
    const at = stages.findIndex((item) => item.dataset.stage === said.stage);
    stages.forEach((item, k) => {
      if (at >= 0) item.className = k < at ? "past" : k === at ? "now" : "next";
    });
    const bar = document.getElementById("progress");
    if (bar && said.of) { bar.max = said.of; bar.value = said.step; }
    const words = document.getElementById("progress-words");
    if (words && said.of) words.textContent = "Step " + said.step + " of " + said.of;
    const button = document.getElementById("cancel");
    if (button && said.stage === "charged") {
      button.textContent = "Cancel: the charge stays spent";
      button.form.elements.seen.value = "spent";
    }
    if (["done", "failed", "cancelled"].includes(said.stage)) { told.close(); location.reload(); }
  };
}

// An audit that runs: look again after a while.
if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), 5000);
