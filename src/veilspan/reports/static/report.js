"use strict";
// Buttons that copy the text of the element they name. Without scripts they stay hidden.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      // Clipboards need a secure page: select the text, so that Ctrl+C copies it.
      getSelection().selectAllChildren(text);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
