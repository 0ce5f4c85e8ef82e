"""Private linear models: the tables of accuracies, and the complexities of Wang, Ye & Xu (2017).

    python experiments/erm/run.py [tables complexity | all] [--quick] [--data DIR] [--out DIR]

Each writes a CSV (complexity also a PNG) and prints what it shows. --data is a folder with the
files named in sets.py; without it only sets that need no file are used.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER.parent / "results" / "erm"
PARTS = ("tables", "complexity")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", default=["all"], help="tables, complexity, or all")
    parser.add_argument("--quick", action="store_true", help="under a minute, no files, no peers")
    parser.add_argument("--tiny", action="store_true", help="seconds, for tests: shows nothing")
    parser.add_argument("--data", type=Path, help="folder with the files named in sets.py")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    names = PARTS if "all" in options.parts else options.parts
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    return max(run(name, options) for name in names)


def run(name, options):
    """One part in a process of its own, with one thread."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--out", str(options.out)]
    command += [f"--{flag}" for flag in ("quick", "tiny") if getattr(options, flag)]
    if options.data is not None and name == "tables":
        command += ["--data", str(options.data)]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env={**one_thread, **os.environ}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
