"""The page of evidence: written from the records of runs, never by hand.

``publish(out, page)`` copies finished records and pictures beside the page (``evidence.md`` and
``evidence/``) and writes the page anew from what lies there. A record replaces one of the same
or a smaller scale: a quick look never overwrites a full run.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from veilspan._files import write_whole

from .job import SCALES
from .records import read_record
from .registry import ITEMS, PAPERS, Paper

Record = dict[str, Any]
ANSWERS = {True: "holds", False: "**does not hold**", None: "not judged"}
NAMES = (
    "diffprivlib", "geomstats", "implicit", "mu", "opendp", "pymanopt", "pyriemann", "surprise"
)  # fmt: skip
HEAD = """\
# Evidence

<!-- Written by `veilspan reproduce --page docs/evidence.md`. Do not edit. -->

Every figure and table of five papers, rerun: what the paper claims, what came out with noise that
keeps the promise, and where the printed method's true epsilon differs from its claim. Any of them
is one command, `veilspan reproduce NAME`; the list is `veilspan reproduce`. *Full* runs take what
time allows and real data where there are files; *quick* ones are minutes on generated rows, or on
sets that come with scikit-learn, with few repetitions. Pictures: vermilion is ours, blue the
paper's method, green another library, black dotted without privacy.

Times are CPU seconds of one thread, measured side by side in one run; read their ratios.
"""


def publish(out: Path, page: Path) -> list[str]:
    """Take over what ``out`` has to offer and write the page; returns the names taken over."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    taken = [item.name for item in ITEMS if _take(out, folder, item.name)]
    text = page_text(records(folder), folder.name)
    write_whole(page, lambda stream: stream.write(text.encode()))
    return taken


def _take(out: Path, folder: Path, name: str) -> bool:
    new, old = read_record(out / f"{name}.json"), read_record(folder / f"{name}.json")
    if new is None or new["scale"] == "tiny":
        return False
    if old is not None and SCALES.index(new["scale"]) < SCALES.index(old["scale"]):
        return False
    for stem in old["pictures"] if old else ():
        (folder / f"{stem}.png").unlink(missing_ok=True)
    for stem in new["pictures"]:
        _copy_picture(out / f"{stem}.png", folder / f"{stem}.png")
    record = (out / f"{name}.json").read_bytes()
    write_whole(folder / f"{name}.json", lambda stream: stream.write(record))
    return True


def _copy_picture(source: Path, target: Path) -> None:
    """A picture with 256 colours: as good for a plot, and a third of the size."""
    from PIL import Image

    with Image.open(source) as picture:
        flat = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        write_whole(target, lambda stream: flat.save(stream, format="PNG", optimize=True))


def records(folder: Path) -> dict[str, Record]:
    """Records of a folder by name, in the order of the list."""
    found = {item.name: read_record(folder / f"{item.name}.json") for item in ITEMS}
    return {name: record for name, record in found.items() if record is not None}


def page_text(found: dict[str, Record], folder: str) -> str:
    """Write the page: a summary of all papers, then each of them with its figures."""
    parts = [HEAD, summary(found)]
    parts += [section(paper, _of(found, paper), folder) for paper in PAPERS]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _of(found: dict[str, Record], paper: Paper) -> list[Record]:
    return [record for record in found.values() if record["paper"] == paper.key]


def summary(found: dict[str, Record]) -> str:
    """How many claims hold, paper by paper."""
    rows = []
    for paper in PAPERS:
        mine = _of(found, paper)
        if not mine or paper.key == "ours":
            continue
        claims = [c for record in mine for c in record["claims"] if c["who"] == "paper"]
        held = sum(c["holds"] is True for c in claims)
        failed = sum(c["holds"] is False for c in claims)
        costly = {
            cost["method"].split(",")[0]  # the same method at several sizes is one method
            for record in mine
            for cost in record["costs"]
            if _too_much(cost)
        }
        listed = sum(item.paper == paper.key for item in ITEMS)
        rows.append([f"[{paper.short}](#{anchor(paper)})", f"{len(mine)} of {listed}", held, failed,
                     len(claims) - held - failed, len(costly)])  # fmt: skip
    head = ["paper", "rerun", "claims that hold", "do not hold", "not judged",
            "methods that cost more than promised"]  # fmt: skip
    return table(head, rows)


def _too_much(cost: Record) -> bool:
    return float(cost["true"]) > 1.001 * float(cost["claimed"])


def anchor(paper: Paper) -> str:
    """The link to a section, as Markdown makes it from the heading."""
    return paper.short.lower().replace(" ", "-")


def section(paper: Paper, mine: list[Record], folder: str) -> str:
    """Write one paper: what it claims, what its methods cost, and every figure."""
    if not mine:
        return ""
    parts = [f"## {paper.short}\n", f"{paper.citation}.\n", claims_table(mine), costs_table(mine)]
    parts += [figure(record, folder) for record in mine]
    return "\n".join(part for part in parts if part)


def claims_table(mine: list[Record]) -> str:
    """One table per paper: claims, measurements, answers."""
    rows = []
    for record in mine:
        for count, claim in enumerate(record["claims"]):
            whose = (
                "" if claim["who"] == record["paper"] or claim["who"] == "paper" else " *(ours)*"
            )
            first = record["label"] if count == 0 else ""
            rows.append([first, claim["claim"] + whose, claim["measured"], ANSWERS[claim["holds"]]])
    whose = "claimed" if mine[0]["paper"] != "ours" else "goal"
    return table(["", whose, "measured", ""], rows) if rows else ""


def costs_table(mine: list[Record]) -> str:
    """What printed methods truly cost."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for record in mine:
        for cost in record["costs"]:
            facts = (cost["method"], short(cost["claimed"]), short(cost["true"]),
                     short(cost["delta"]), cost["neighbors"], cost["why"])  # fmt: skip
            labels.setdefault(facts, []).append(record["label"])
    if not labels:
        return ""
    # What several figures have in common is said once.
    rows = [[", ".join(dict.fromkeys(found)), *facts] for facts, found in labels.items()]
    if mine[0]["paper"] == "ours":
        head = ["", "method", "claimed ε", "ε is at least", "δ", "neighbours", ""]
        return "Promises that a game refutes, with its lower bound:\n\n" + table(head, rows)
    head = ["", "method as printed", "claimed ε", "true ε", "δ", "neighbours", ""]
    return "True epsilon, by exact accounting of the printed noise:\n\n" + table(head, rows)


def figure(record: Record, folder: str) -> str:
    """One item: verdict, pictures, notes, command."""
    lines = [f"### {record['label']}: {record['title']}\n", f"{sentence(record['verdict'])}\n"]
    lines += [f"![{record['title']}]({folder}/{stem}.png)\n" for stem in record["pictures"]]
    if record["facts"].get("shown"):
        rows = record["facts"]["shown"]  # a list of rows, each a mapping from column to text
        lines.append(table(rows[0], (row.values() for row in rows)))
    facts = f"{record['scale']} run, {record['source']}, {duration(record['cpu_seconds'])} of CPU"
    facts += f", code {record['code']}" if "code" in record else ", by an earlier version"
    lines.append(f"`{record['command']}` ({facts})\n")
    lines += [f"- {sentence(note)}" for note in record["notes"]]
    return "\n".join(lines) + ("\n" if record["notes"] else "")


def table(head: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """Write a table in Markdown from its head and rows; cells may be of any type."""
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [list(row) for row in rows]
    return "".join("| " + " | ".join(cell(value) for value in line) + " |\n" for line in lines)


def cell(value: Any) -> str:
    """A value that cannot break a table."""
    return " ".join(str(value if value is not None else "").replace("|", "\\|").split())


def sentence(text: str) -> str:
    """A text that begins with a capital letter and ends with a full stop.

    Names (dp-GGD, diffprivlib, n = 5) keep their first letter.
    """
    text = " ".join(text.split())
    first = text.partition(" ")[0]
    if first.isalpha() and len(first) > 1 and first not in NAMES:
        text = text[:1].upper() + text[1:]
    return text + ("" if text.endswith((".", "!", "?", ":")) else ".")


def short(value: Any) -> str:
    """A number for a table: 0.02, 1.2e5, ∞."""
    number = float(value)
    if number == float("inf"):
        return "∞"
    return f"{number:.3g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def duration(seconds: float) -> str:
    """Seconds or minutes, in words."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
