"""Build the wheel and the sdist, check both, and use the wheel as its first user would.

``python3 .ci/package.py [--long]``, from the root of a clean clone. The wheel is installed without
an extra into an empty environment, which then runs the demo's release, fits a CSV file by its
schema, shows its report and loads the release in Python. With --long on every Python at hand, and
once with the oldest dependencies that the package allows. Nothing but the standard library is
needed; the tools go into an environment of their own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("build", "twine", "check-wheel-contents")
VERSIONS = ("3.11", "3.12", "3.13")
#: Packages that the base install must do without: each belongs to an extra.
EXTRAS = ("matplotlib", "dask", "pyarrow", "pandas", "psycopg", "starlette", "numba")

TABLE = "age,dose,smoker,ill\n" + "".join(
    f"{20 + 7 * i % 60},{(13 * i % 300) / 100},{'yes' if i % 3 else 'no'},{'y' if i % 2 else 'n'}\n"
    for i in range(600)
)
SCHEMA = """
veilspan_schema = 1
name = "ward"
[columns.age]
type = "number"
range = [18, 100]
source = "admission rules"
[columns.dose]
type = "number"
range = [0, 3]
source = "pharmacy's limit"
[columns.smoker]
type = "boolean"
true = ["yes"]
false = ["no"]
source = "the form"
[columns.ill]
type = "category"
role = "target"
categories = ["n", "y"]
source = "the form"
"""
LOAD = """
import sys, time
start = time.perf_counter()
import veilspan
seconds = time.perf_counter() - start
heavy = [name for name in ("numpy", "sklearn", "scipy") if name in sys.modules]
assert not heavy, f"import veilspan loads {heavy}"
model = veilspan.load("release")
assert model.privacy_.verify()
print(f"import veilspan: {1000 * seconds:.0f} ms")
"""


def main(words: list[str]) -> int:
    """Build, check and try; return an exit code."""
    work = Path(tempfile.mkdtemp(prefix="veilspan-package-"))
    try:
        tools = make_venv(work / "tools", sys.executable, *TOOLS)
        run(tools / "python", "-m", "build", "--outdir", work / "dist", ROOT)
        files = sorted((work / "dist").iterdir())
        run(tools / "twine", "check", "--strict", *files)
        wheel = next(path for path in files if path.suffix == ".whl")
        run(tools / "check-wheel-contents", wheel)
        for python in find_pythons(everyone="--long" in words):
            try_wheel(work, wheel, python)
        if "--long" in words:
            try_lowest(work, wheel)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 0


def find_pythons(*, everyone: bool) -> list[str]:
    """The Python that runs this, and with ``everyone`` others that can be found."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    if everyone:
        kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        for version in VERSIONS:
            near = [shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python"))]
            for python in filter(None, near):
                if version not in found and answers(str(python), version):
                    found[version] = str(python)
        for version in VERSIONS:
            say(f"Python {version}: {'found' if version in found else 'not at hand, left out'}")
    return list(found.values())


def answers(python: str, version: str) -> bool:
    """Whether a program is a Python of that version."""
    probe = "import sys; print('%d.%d' % sys.version_info[:2])"
    told = subprocess.run([python, "-c", probe], capture_output=True, text=True)
    return told.returncode == 0 and told.stdout.strip() == version


def try_wheel(work: Path, wheel: Path, python: str) -> None:
    """Install the wheel alone into an empty environment, and use it."""
    place = work / f"base-{time.monotonic_ns()}"
    start = time.monotonic()
    programs = make_venv(place, python, str(wheel))
    seconds = time.monotonic() - start
    listed = run(programs / "python", "-m", "pip", "list", "--format=json", quiet=True)
    names = {entry["name"].lower() for entry in json.loads(listed)}
    if extra := names & set(EXTRAS):
        raise SystemExit(f"the base install brings {', '.join(sorted(extra))}")
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    say(f"{python}: {len(names)} packages, {size / 1e6:.0f} MB, installed in {seconds:.0f} s")
    use(programs, work / f"{place.name}-files")
    shutil.rmtree(place)


def use(programs: Path, folder: Path) -> None:
    """What a first user does: the demo, an own table by its schema, its report, Python."""
    folder.mkdir()
    (folder / "ward.csv").write_text(TABLE, encoding="utf-8")
    (folder / "ward.toml").write_text(SCHEMA, encoding="utf-8")
    veilspan = programs / "veilspan"
    run(veilspan, "demo", cwd=folder, quiet=True)
    words = ("fit", "logistic", "ward.csv", "--schema", "ward.toml", "--out", "release")
    run(veilspan, *words, cwd=folder, quiet=True)
    run(veilspan, "report", "release", "--out", "page.html", cwd=folder, quiet=True)
    run(veilspan, "inspect", "release", cwd=folder, quiet=True)
    if "<html" not in (folder / "page.html").read_text(encoding="utf-8"):
        raise SystemExit("the report is no page")
    say(run(programs / "python", "-I", "-c", LOAD, cwd=folder, quiet=True).strip())


def try_lowest(work: Path, wheel: Path) -> None:
    """The oldest versions that pyproject.toml allows, resolved by uv, on the oldest Python."""
    tools = make_venv(work / "uv", sys.executable, "uv")
    python = find_pythons(everyone=True)[0]
    programs = make_venv(work / "lowest", python)
    words = ("pip", "install", "--quiet", "--resolution", "lowest-direct", "--python")
    run(tools / "uv", *words, programs / "python", wheel)
    say("the oldest dependencies:")
    use(programs, work / "lowest-files")


def make_venv(place: Path, python: str, *packages: str) -> Path:
    """An environment with these packages; the folder of its programs."""
    run(python, "-m", "venv", place)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    if packages:
        quiet = ("--quiet", "--disable-pip-version-check")
        run(programs / "python", "-m", "pip", "install", *quiet, *packages)
    return programs


def run(*command: object, cwd: Path | None = None, quiet: bool = False) -> str:
    """Run a command, and stop with its output where it fails."""
    words = [str(word) for word in command]
    environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(words, cwd=cwd or ROOT, env=environ, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}\n{done.stderr}")
    if not quiet:
        print(done.stdout, end="", flush=True)
    return done.stdout


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"package: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
