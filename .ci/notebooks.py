"""Run every guide as a notebook, from the root of a clean clone: ``python3 .ci/notebooks.py``.

Needs the environment that ``python3 run.py test`` made. What runs notebooks goes into an
environment of its own, which sees the packages of that one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv" / "bin" / "python"
TOOLS = ("nbclient", "nbformat", "ipykernel")
RUN = """
import sys, time
from pathlib import Path
import nbformat
from nbclient import NotebookClient
for path in sorted(Path(sys.argv[1]).glob("*.ipynb")):
    start = time.monotonic()
    folder = path.with_suffix("")
    folder.mkdir()
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    print(f"notebooks: {path.stem}: {cells} cells in {time.monotonic() - start:.0f} s", flush=True)
"""


def main() -> int:
    """Write the notebooks into a temporary folder and run them one after another."""
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        write = [sys.executable, "docs/make_notebooks.py", str(place / "guides")]
        subprocess.run(write, cwd=ROOT, check=True)
        python = make_environment(place / "tools")
        return subprocess.run([python, "-c", RUN, str(place / "guides")], cwd=work).returncode


def make_environment(home: Path) -> str:
    """Make an environment with the tools, in which the packages of the checkout are seen too."""
    subprocess.run([PYTHON, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    packages = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    (own,) = (home / "lib").glob("python*/site-packages")
    (own / "checkout.pth").write_text(f"{packages}{os.linesep}{ROOT / 'src'}{os.linesep}")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS]
    subprocess.run(install, check=True)
    return str(python)


if __name__ == "__main__":
    sys.exit(main())
