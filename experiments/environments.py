"""Other libraries, each in an environment of its own, so that their pins never touch ours.

An environment lies under ``.venvs/peers/`` in the checkout. It is made by uv if there is one, else
by venv and pip, and made again when the list of packages changes.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

# Settings of the calling shell that would send an installation or an import elsewhere.
LEAKS = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_USER")
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")
}


class PeerUnavailable(Exception):
    """The one sentence that says why another library cannot be run here."""


def peers_folder() -> Path:
    """Return the folder of the environments, in the checkout."""
    return Path(__file__).resolve().parents[1] / ".venvs" / "peers"


def ask(
    name: str, packages: list[str], script: Path, question: str, settings: dict[str, Any]
) -> Any:
    """Run ``python script question settings`` in an environment and return its JSON answer."""
    command = [str(peer_python(name, packages)), str(script), question, json.dumps(settings)]
    run = subprocess.run(command, env=peer_environ(), stdout=subprocess.PIPE, check=False)
    if run.returncode != 0:
        raise PeerUnavailable(f"{name} failed on {question!r} (exit code {run.returncode}).")
    return json.loads(run.stdout)


def peer_python(name: str, packages: list[str]) -> Path:
    """Return the Python of the environment that holds ``packages``; make it if it is not there."""
    home = peers_folder() / name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    record = home / "packages.json"  # written last: an interrupted set-up leaves none
    if python.exists() and _read(record) == packages:
        return python
    print(f"making an environment for {name} ...", file=sys.stderr, flush=True)
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    for command in _commands(home, python, packages):
        _run(name, command)
    record.write_text(json.dumps(packages), encoding="utf-8")
    return python


def peer_environ() -> dict[str, str]:
    """Environment variables for another library: nothing of ours on its path, one BLAS thread."""
    kept = {key: value for key, value in os.environ.items() if key not in LEAKS}
    return {**kept, **ONE_THREAD}


def _commands(home: Path, python: Path, packages: list[str]) -> list[list[str]]:
    base = getattr(sys, "_base_executable", None) or sys.executable
    uv = _uv()
    if uv is not None:
        return [
            [uv, "venv", "--quiet", "--python", base, str(home)],
            [uv, "pip", "install", "--quiet", "--python", str(python), *packages],
        ]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [[base, "-m", "venv", str(home)], [*pip, *packages]]


def _uv() -> str | None:
    beside = str(Path(sys.executable).parent)
    return shutil.which("uv") or shutil.which("uv", path=beside)


def _run(name: str, command: list[str]) -> None:
    try:
        code = subprocess.call(command, env=peer_environ(), stdout=sys.stderr)
    except OSError as error:
        raise PeerUnavailable(f"cannot run {Path(command[0]).name}: {error.strerror}.") from error
    if code != 0:
        raise PeerUnavailable(
            f"the environment for {name} could not be made (exit code {code}, see above)."
        )


def _read(record: Path) -> list[str] | None:
    try:
        return json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
