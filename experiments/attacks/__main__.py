"""``python -m experiments.attacks``: run all attacks, print what was tried and what held.

``--full`` runs more of each, ``--only NAME`` one of them, ``--json FILE`` writes the record,
``--page FILE`` puts the table of the record between the two marks of a page (SECURITY.md). Ends
with code 1 if something gave way.
"""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import veilspan

from .outcome import Outcome
from .table import ATTACKS, markdown_table, text_table

BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"


def run_all(counts, seed, only=None, tell=lambda text: None):
    """Run every attack and return the record."""
    attacks = []
    for attack in ATTACKS:
        if only and attack.name != only:
            continue
        tell(f"{attack.name} ...")
        start = time.perf_counter()
        try:
            outcome = attack.run(counts(attack), seed)
        except Exception as error:  # an attack that cannot run has not been held
            outcome = Outcome().count(f"could not be run: {type(error).__name__}: {error}")
        attacks.append(
            {
                "name": attack.name,
                "aim": attack.aim,
                "tried": outcome.tried,
                "held": outcome.held,
                "note": outcome.note,
                "broken": outcome.broken,
                "seconds": round(time.perf_counter() - start, 1),
            }
        )
    return {
        "veilspan": veilspan.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "seed": seed,
        "attacks": attacks,
    }


def put_into(page, record):
    """The page with the table of a record between its marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{markdown_table(record)}\n{END}{after}"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m experiments.attacks", description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", choices=[attack.name for attack in ATTACKS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args(arguments)
    record = run_all(
        lambda attack: attack.full if asked.full else attack.quick,
        asked.seed,
        asked.only,
        lambda text: print(text, file=sys.stderr, flush=True),
    )
    print(text_table(record))
    if asked.json:
        asked.json.write_text(json.dumps(record, indent=2) + "\n")
    if asked.page:
        asked.page.write_text(put_into(asked.page.read_text(), record))
    return int(any(attack["held"] < attack["tried"] for attack in record["attacks"]))


if __name__ == "__main__":
    sys.exit(main())
