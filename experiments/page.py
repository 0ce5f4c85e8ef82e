"""The pages of evidence: written from the records of runs, never by hand.

``publish(out, page)`` copies finished records and pictures beside the page (``evidence.md`` and
``evidence/``) and writes the pages anew from what lies there: a first one that fits a screen, and
one for each paper. A record replaces one of the same or a smaller scale: a quick look never
overwrites a full run, and refutes nothing.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from veilspan._files import write_whole

from .job import SCALES
from .records import read_record
from .registry import ITEMS, PAPERS, Paper
from .winners import contests, draw, in_words

Record = dict[str, Any]
ANSWERS = {True: "holds", False: "**does not hold**", None: "not judged"}
QUICK_NO = "not shown (quick run)"  # a quick run refutes nothing
MOST_NOTES = 5  # below a figure; more stand behind a line that opens them
LARGEST_PARTS = 200_000  # bytes: larger ones stay where they were made
NAMES = (
    "diffprivlib", "geomstats", "implicit", "mu", "opendp", "pymanopt", "pyriemann", "surprise"
)  # fmt: skip
HEAD = """\
# Evidence

<!-- Written by `veilspan reproduce --page docs/evidence.md`. Do not edit. -->

Every figure and table of five papers, rerun: what the paper claims, what came out with noise that
keeps the promise, and where the printed method's true epsilon differs from its claim.
"""
FOOT = """\
Each number comes from one command, `veilspan reproduce NAME`, which stands below its figure; the
list is `veilspan reproduce`. *Full* runs have the paper's sizes, and real data where there are
files; *quick* ones are minutes on generated rows with few repetitions: they show that the code runs
and **refute nothing**. Times are CPU seconds of one thread, measured side by side in one run; read
their ratios. Pictures: vermilion is ours, blue the paper's method, green another library, black
dotted without privacy.
"""
WINNERS = """\
## Who wins, task by task

Each square compares ours, with its defaults, with the best private rival of that square, chosen
after the fact: vermilion is ours ahead, blue the rival. The records below have the numbers, the
rivals' settings and the methods without privacy.
"""


def publish(out: Path, page: Path) -> list[str]:
    """Take over what ``out`` has to offer and write the page; returns the names taken over."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    # The page's own folder has nothing to offer: old pictures are removed before new ones come.
    elsewhere = out.resolve() != folder.resolve()
    taken = [item.name for item in ITEMS if elsewhere and _take(out, folder, item.name)]
    draw_winners(folder)
    won = winners_section(folder)
    for name, text in page_texts(records(folder), folder.name, won).items():
        path = page if name == folder.name else folder / f"{name}.md"
        write_whole(path, lambda stream, text=text: stream.write(text.encode()))
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
    _take_parts(out / f"{name}.parts.jsonl.gz", folder / f"{name}.parts.jsonl.gz")
    return True


def _take_parts(source: Path, target: Path) -> None:
    """The parts of a run beside its record, for ``--recheck``, where they are small."""
    if source.exists() and source.stat().st_size <= LARGEST_PARTS:
        parts = source.read_bytes()
        write_whole(target, lambda stream: stream.write(parts))
    else:
        target.unlink(missing_ok=True)


def draw_winners(folder: Path) -> None:
    """Draw who wins each task by the records of a folder."""
    from . import style

    for contest in contests(folder):
        stem = f"winners-{contest.name}"
        style.save(draw(contest), folder / stem)
        (folder / f"{stem}.svg").unlink()
        _copy_picture(folder / f"{stem}.png", folder / f"{stem}.png")


def winners_section(folder: Path) -> str:
    """Show who wins each task, in words and pictures."""
    found = contests(folder)
    words = [f"- {in_words(contest)}" for contest in found]
    shown = [f"![{contest.title}](winners-{contest.name}.png)\n" for contest in found]
    squares = folded("The squares of every task", "\n".join(shown))
    return "\n".join([WINNERS, *words, "", squares]) if found else ""


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


def page_texts(found: dict[str, Record], first: str, won: str = "") -> dict[str, str]:
    """Write the first page, and one for each paper, by name; ``won`` heads that of our own."""
    papers = {paper.key: _of(found, paper) for paper in PAPERS}
    shown = [paper for paper in PAPERS if papers[paper.key]]
    texts = {first: first_page(found, shown, first)}
    for paper in shown:
        texts[paper.key] = paper_page(paper, papers[paper.key], won if paper.key == "ours" else "")
    return texts


def first_page(found: dict[str, Record], shown: list[Paper], folder: str) -> str:
    """Write what fits a screen: a table of the papers, how to read it, where to go on."""
    pages = "\n".join(f"{folder}/{paper.key}" for paper in shown)
    toctree = f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    return "\n".join([HEAD, summary(found, folder), FOOT, toctree])


def _of(found: dict[str, Record], paper: Paper) -> list[Record]:
    return [record for record in found.values() if record["paper"] == paper.key]


def summary(found: dict[str, Record], folder: str) -> str:
    """How many claims hold in full runs, paper by paper."""
    rows = []
    for paper in PAPERS:
        mine = _of(found, paper)
        if not mine:
            continue
        held, failed, open_ = _count_claims(mine)
        costly = {
            cost["method"].split(",")[0]  # the same method at several sizes is one method
            for record in mine
            for cost in record["costs"]
            if _too_much(cost)
        }
        full = sum(record["scale"] == "full" for record in mine)
        rows.append([f"[{paper.short}]({folder}/{paper.key}.md)", f"{full} of {len(mine)}",
                     held, failed, open_, len(costly) if paper.key != "ours" else ""])  # fmt: skip
    head = ["", "full runs", "claims that hold", "do not hold", "not judged",
            "methods that cost more than promised"]  # fmt: skip
    return table(head, rows)


def _count_claims(mine: list[Record]) -> tuple[int, int, int]:
    """Claims that hold and do not hold in full runs, and all others; goals only of our own."""
    whose = "ours" if mine[0]["paper"] == "ours" else "paper"
    of_paper = [(r, c) for r in mine for c in r["claims"] if whose == "ours" or c["who"] == whose]
    judged = [c["holds"] for r, c in of_paper if r["scale"] == "full" and c["holds"] is not None]
    return sum(judged), len(judged) - sum(judged), len(of_paper) - len(judged)


def _too_much(cost: Record) -> bool:
    return float(cost["true"]) > 1.001 * float(cost["claimed"])


def paper_page(paper: Paper, mine: list[Record], won: str = "") -> str:
    """Write one paper: what survives and what does not, the long tables, then its figures."""
    figures = [figure(record) for record in mine]
    tables = [folded("Every claim, and what came out", claims_table(mine))]
    tables += [folded("What printed methods truly cost", costs_table(mine))]
    head = f"# {paper.short}\n\n{paper.citation}.\n"
    back = "[All papers](../evidence.md).\n"
    return (
        "\n".join(p for p in [head, in_short(mine), back, won, *tables, *figures] if p).rstrip()
        + "\n"
    )


def in_short(mine: list[Record]) -> str:
    """Say what survives, what does not, and how sure that is."""
    held, failed, open_ = _count_claims(mine)
    full = [record for record in mine if record["scale"] == "full"]
    lines = [
        f"{_some(held, 'claim')} of {held + failed + open_} {'holds' if held == 1 else 'hold'}, "
        f"{failed} {'does' if failed == 1 else 'do'} not, {open_} {'is' if open_ == 1 else 'are'} "
        f"not judged. {len(full)} of {len(mine)} runs are full.\n"
    ]
    for answer, words in ((False, "Does not survive"), (True, "Survives")):
        claims = [
            (record, claim)
            for record in full
            for claim in record["claims"]
            if claim["holds"] is answer and claim["who"] == "paper" and record["paper"] != "ours"
        ]
        if claims:
            points = [f"- {sentence(c['claim'])} *({r['label']})*" for r, c in claims]
            lines += [f"**{words}:**\n", *points, ""]
    return "\n".join(lines)


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def folded(title: str, text: str) -> str:
    """A long table behind a line that opens it."""
    return f"<details><summary>{title}</summary>\n\n{text}\n</details>\n" if text else ""


def claims_table(mine: list[Record]) -> str:
    """One table per paper: claims, measurements, answers."""
    rows = []
    for record in mine:
        for count, claim in enumerate(record["claims"]):
            whose = (
                "" if claim["who"] == record["paper"] or claim["who"] == "paper" else " *(ours)*"
            )
            first = record["label"] if count == 0 else ""
            rows.append([first, claim["claim"] + whose, claim["measured"], answer(record, claim)])
    whose = "claimed" if mine[0]["paper"] != "ours" else "goal"
    return table(["", whose, "measured", ""], rows) if rows else ""


def answer(record: Record, claim: Record) -> str:
    """Whether a claim holds, in words; a quick run refutes nothing."""
    quick = record["scale"] != "full" and claim["holds"] is False
    return QUICK_NO if quick else ANSWERS[claim["holds"]]


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


def figure(record: Record) -> str:
    """One item: verdict, pictures with what they were made from, command, notes."""
    lines = [f"## {record['label']}: {record['title']}\n", f"{sentence(record['verdict'])}\n"]
    facts = f"{sentence(record['scale'] + ' run, ' + record['source'])[:-1]}"
    facts += f", {record['date']}" if "date" in record else ""
    for stem in record["pictures"]:
        lines += [f"![{record['title']}]({stem}.png)\n", f"*{facts}.*\n"]
    if record["facts"].get("shown"):
        rows = record["facts"]["shown"]  # a list of rows, each a mapping from column to text
        lines.append(table(rows[0], (row.values() for row in rows)))
    facts = f"{record['scale']} run, {duration(record['cpu_seconds'])} of CPU"
    facts += f", code {record['code']}" if "code" in record else ", by an earlier version"
    lines.append(f"`{record['command']}` ({facts}{_rechecked(record)})\n")
    notes = [f"- {sentence(note)}" for note in record["notes"]]
    if len(notes) > MOST_NOTES:
        lines.append(folded(f"{len(notes)} things to know of it", "\n".join(notes)))
        return "\n".join(lines)
    return "\n".join([*lines, *notes]) + ("\n" if notes else "")


def _rechecked(record: Record) -> str:
    """How much of a record was computed again by the code that it names, in words."""
    if "rechecked" not in record:
        return ""
    seen = record["rechecked"]
    how = "all" if seen["parts"] == seen["of"] else f"{seen['parts']} of {seen['of']}"
    return (
        f", which computed {how} parts again on {seen['date']}, the same to the last digit; "
        f"made by code {seen['made_by']}"
    )


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
