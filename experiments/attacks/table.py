"""The list of attacks, and the table of what they found."""

from dataclasses import dataclass
from typing import Any

from . import flips, floats, pages, processes, rows


@dataclass(frozen=True)
class Attack:
    """An attack: what it tries, and how often in a quick and in a full run."""

    name: str
    aim: str
    run: Any
    quick: int
    full: int


ATTACKS = (
    Attack("races", "spend more than the budget from 8 processes at once",
           processes.races, 4, 20),
    Attack("kills during a charge", "lose or double a charge by kill -9",
           processes.killed_charges, 60, 500),
    Attack("kills during a save", "lose a release by kill -9, or leave half of one",
           processes.killed_saves, 60, 500),
    Attack("bit flips in a ledger", "change what was spent without a word",
           flips.ledger_flips, 80, 1000),
    Attack("bit flips in a release", "change a result or its statement without a word",
           flips.release_flips, 300, 5000),
    Attack("malicious files", "run code, hang or fill the memory by opening a release",
           processes.malicious_files, 99, 99),
    Attack("adversarial rows", "let one row reach more than its charged answers",
           rows.replays, 150, 2000),
    Attack("text in pages", "run a script by a title or a column's name",
           pages.payloads, 99, 99),
    Attack("low bits", "read a sum from the last bits of noisy answers",
           floats.low_bits, 100, 2000),
    Attack("rows at the edges of float64", "make one row warn or fail",
           floats.edges, 120, 10_000),
    Attack("far points", "lose one row's bound in rounding, far out on a hyperboloid",
           floats.far_points, 4, 40),
)  # fmt: skip


def text_table(record):
    """The record as aligned text."""
    cells = [("attack", "tried", "held", "what was counted")]
    cells += [
        (a["name"], f"{a['tried']:,}", f"{a['held']:,}", a["note"]) for a in record["attacks"]
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(3)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}"
        for row in cells
    ]
    for attack in record["attacks"]:
        lines += [f"GAVE WAY, {attack['name']}: {text}" for text in attack["broken"]]
    return "\n".join(lines)


def markdown_table(record):
    """The record as a table for a page."""
    lines = [
        "| attack | what it tries | tried | held | what was counted |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {a['name']} | {a['aim']} | {a['tried']:,} | {a['held']:,} | {a['note']} |"
        for a in record["attacks"]
    ]
    return "\n".join(lines)
