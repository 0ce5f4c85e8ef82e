"""Set up Veilspan in its own environment and run it: ``python3 run.py demo | studio | test``.

Needs nothing but the standard library. The environment is `.venv` beside this file; nothing is
ever installed into the Python that runs this script, so an externally managed one is fine.
A record inside `.venv`, written last, says what was installed: when it still holds, a command
starts at once; when it is absent or wrong, `.venv` is made again.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
MIN_PYTHON = (3, 11)
MAX_WORKERS = 8

USAGE = """\
usage: python3 run.py COMMAND [ARGUMENTS]

  demo [ARGUMENTS]   set up with matplotlib and the studio, then `veilspan demo`
  studio [ARGUMENTS] set up with the studio, then `veilspan studio`; try --demo
  test [ARGUMENTS]   set up with the test tools, then pytest in parallel; --all runs the slow
                     tests too (games, replays, experiments), as .ci/run does
  lint               set up with the linters, then ruff (lint and format) and mypy
  docs               set up with Sphinx, then build build/site; warnings are errors
"""

# Settings of the calling shell that would send an installation or an import elsewhere, or slow it.
LEAKS = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONHOME",
    "PYTHONPATH",
    "__PYVENV_LAUNCHER__",
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_PYTHON",
    "UV_SYSTEM_PYTHON",
    # Every process would compile the package anew, and there are hundreds of them in the tests.
    "PYTHONDONTWRITEBYTECODE",
)


class Stop(Exception):
    """The one sentence that says why the set-up cannot go on."""


class ToolFailed(Stop):
    """An installer ran and failed; another one may succeed."""


def say(text):
    """Print one progress line, apart from the output of the command itself."""
    print(f"run.py: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def stage(label):
    """Print one line for a stage of the set-up: what it is, then how long it took."""
    start = time.monotonic()
    print(f"run.py: {label} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        print(" stopped", file=sys.stderr, flush=True)
        raise
    print(f" {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


def base_python():
    """Return the interpreter behind this one, which outlives any virtual environment."""
    return getattr(sys, "_base_executable", None) or sys.executable


def program(name):
    """Return the path of a program inside the environment."""
    if os.name == "nt":
        return str(VENV / "Scripts" / f"{name}.exe")
    return str(VENV / "bin" / name)


def clean_environ():
    """Return the caller's environment variables without those of `LEAKS`."""
    return {name: value for name, value in os.environ.items() if name not in LEAKS}


def venv_environ():
    """Return the environment variables of an activated `.venv`."""
    environ = clean_environ()
    bin_dir = str(Path(program("python")).parent)
    environ["VIRTUAL_ENV"] = str(VENV)
    environ["PATH"] = os.pathsep.join([bin_dir, environ.get("PATH", os.defpath)])
    return environ


def call(command, environ=None, cwd=None):
    """Run a command and return its exit code, in the shell's convention for signals."""
    try:
        code = subprocess.call(command, env=environ or clean_environ(), cwd=cwd)
    except OSError as error:
        raise ToolFailed(f"cannot run {command[0]}: {error.strerror}.") from error
    return code if code >= 0 else 128 - code


def run_tool(command, cwd=None):
    """Run an installer in silence and return its exit code and what it would have said."""
    try:
        done = subprocess.run(
            command,
            env=clean_environ(),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise ToolFailed(f"cannot run {command[0]}: {error.strerror}.") from error
    return done.returncode, done.stdout.decode(errors="replace").strip()


# The record of what `.venv` holds.


def place():
    """Describe what a finished environment is tied to: where it stands and its Python."""
    version = ".".join(str(part) for part in sys.version_info[:2])
    return f"{sys.implementation.name} {version} at {VENV}"


def sources():
    """Hash the files that decide what gets installed."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "src/veilspan/_version.py"):
        path = ROOT / name
        digest.update(path.read_bytes() if path.exists() else b"")
        digest.update(b"\0")
    return digest.hexdigest()


def stamp():
    """Return the path of the record."""
    return VENV / "veilspan-run.json"


def read_stamp():
    """Return the record of the last finished set-up, or an empty one."""
    try:
        record = json.loads(stamp().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def write_stamp(extras, tool):
    """Record a finished set-up in one step: the record is whole, or it is not there."""
    record = {"place": place(), "sources": sources(), "extras": sorted(extras), "tool": tool}
    draft = stamp().with_suffix(".tmp")
    draft.write_text(json.dumps(record, indent=1), encoding="utf-8")
    os.replace(str(draft), str(stamp()))


def answers():
    """Tell whether the environment's Python starts and knows the package."""
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('veilspan') is None)"
    command = [program("python"), "-I", "-c", probe]
    try:
        return subprocess.call(command, env=clean_environ(), stderr=subprocess.DEVNULL) == 0
    except OSError:
        return False


# Making `.venv` and installing into it.


def has_module(name):
    """Tell whether this Python can import a module of the standard library."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def remove_venv():
    """Remove `.venv`, if it is an environment and not something else of that name."""
    if VENV.is_symlink():
        VENV.unlink()
    elif VENV.is_dir():
        entries = {path.name for path in VENV.iterdir()}
        known = {"pyvenv.cfg", "bin", "lib", "Scripts", "Lib", stamp().name}
        if entries and not entries & known:
            raise Stop(f"{VENV} is not a virtual environment: move it away and try again.")
        shutil.rmtree(str(VENV))
    elif VENV.exists():
        raise Stop(f"{VENV} is a file: move it away and try again.")


def make_venv(tool):
    """Make an empty `.venv`, in place of any that is there."""
    if tool == "pip" and not (has_module("venv") and has_module("ensurepip")):
        raise Stop(
            "venv is missing: run `apt install python3-venv` (Debian, Ubuntu), "
            "or install uv, and try again."
        )
    remove_venv()
    if tool == "uv":
        command = ["uv", "venv", "--quiet", "--python", base_python(), str(VENV)]
    else:
        command = [base_python(), "-m", "venv", str(VENV)]
    with stage(f"making .venv with {'uv' if tool == 'uv' else 'venv'}"):
        code, output = run_tool(command)
        if code != 0:
            raise ToolFailed(f"{tool} could not make .venv. It said:\n{output}")


def install(tool, extras):
    """Install the package, editable, with its extras into `.venv`."""
    suffix = f"[{','.join(sorted(extras))}]" if extras else ""
    if tool == "uv":
        command = ["uv", "pip", "install", "--quiet", "--python", program("python")]
    else:
        command = [program("python"), "-m", "pip", "install", "--quiet"]
        command.append("--disable-pip-version-check")
    with stage(f"installing veilspan{suffix} with {tool}, a minute or two"):
        code, output = run_tool([*command, "--editable", f".{suffix}"], cwd=str(ROOT))
        if code != 0:
            raise ToolFailed(
                f"{tool} could not install the package (a network that cannot be reached is the "
                f"usual reason). It said:\n{output}"
            )


def build(tool, extras):
    """Make `.venv` from nothing and record it."""
    make_venv(tool)
    install(tool, extras)
    write_stamp(extras, tool)


def extend(tool, extras):
    """Install into a sound `.venv`; its record is gone until the installation has finished."""
    stamp().unlink()
    install(tool, extras)
    write_stamp(extras, tool)


@contextlib.contextmanager
def alone():
    """Let one set-up at a time work on `.venv`, where the system has file locks."""
    if fcntl is None:
        yield
        return
    handle = os.open(str(ROOT), os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def set_up(extras):
    """Bring `.venv` to hold the package with these extras, one caller at a time."""
    with alone():
        complete(extras)


def complete(extras):
    """Do what is still needed for `.venv` to hold the package with these extras."""
    record = read_stamp()
    sound = record.get("place") == place() and answers()
    have = set(record.get("extras", ())) if sound else set()
    wanted = have | set(extras)
    if sound and record.get("sources") == sources() and wanted == have:
        return
    has_uv = shutil.which("uv") is not None
    tool = "uv" if has_uv else "pip"
    step = build
    if sound and (has_uv or record.get("tool") == "pip"):
        tool, step = record.get("tool", tool), extend
    try:
        step(tool, wanted)
    except ToolFailed as failure:
        if tool != "uv":
            raise
        say(f"{failure}\nTrying venv and pip instead.")
        build("pip", wanted)


# The commands.


def workers(arguments):
    """Return pytest's options for parallel runs, or none where the caller decides."""
    own = ("-n", "--numprocesses", "--pdb", "--trace", "no:xdist", "-pno:xdist")
    if any(argument.startswith(own) for argument in arguments):
        return []
    # One more than there are cores: many tests wait for processes. Each begins with a stretch of
    # its own, so that what the tests of a file share is made once, and takes from others at the
    # end.
    return ["-n", str(min((os.cpu_count() or 1) + 1, MAX_WORKERS)), "--dist", "worksteal"]


def start(command, arguments, extras):
    """Start a command of veilspan where the caller stands, and tell it how it can be called."""
    set_up(extras)
    path = os.path.relpath(program("veilspan")) if Path.cwd() == ROOT else program("veilspan")
    environ = {**venv_environ(), "VEILSPAN_PROGRAM": shlex.quote(path)}
    return call([program("veilspan"), command, *arguments], environ)


def demo(arguments):
    """Run the demonstration, with what draws its picture and what it proposes next."""
    return start("demo", arguments, ["plots", "studio"])


def studio(arguments):
    """Start the studio."""
    return start("studio", arguments, ["studio"])


def test(arguments):
    """Run the test suite."""
    set_up(["plots", "test"])
    command = [program("python"), "-m", "pytest", *workers(arguments), *arguments]
    # Workers share the cores already: further threads of BLAS would wait for each other.
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return call(command, {**one_thread, **venv_environ()}, str(ROOT))


def lint(arguments):
    """Run every linter and return the first exit code that is not zero."""
    if arguments:
        say("lint takes no arguments.")
        return 2
    set_up(["lint"])
    checks = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"])
    codes = []
    for check in checks:
        say(" ".join(check))
        codes.append(call([program(check[0]), *check[1:]], venv_environ(), str(ROOT)))
    return next((code for code in codes if code), 0)


def docs(arguments):
    """Build the documentation site; warnings are errors."""
    set_up(["docs"])
    command = [program("python"), "-m", "sphinx", "-W", "--keep-going", "-b", "html", *arguments]
    command += ["-d", "build/doctrees", "docs", "build/site"]
    code = call(command, venv_environ(), str(ROOT))
    if code == 0:
        say("open build/site/index.html")
    return code


COMMANDS = {"demo": demo, "studio": studio, "test": test, "lint": lint, "docs": docs}


def check_python():
    """Stop where this Python is too old for the package."""
    if sys.version_info[:2] < MIN_PYTHON:
        have = ".".join(str(part) for part in sys.version_info[:2])
        need = ".".join(str(part) for part in MIN_PYTHON)
        raise Stop(f"Python {need} or newer is needed, and this is Python {have}.")


def main(argv):
    """Run one command and return its exit code."""
    if argv[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    if not argv or argv[0] not in COMMANDS:
        print(USAGE, end="", file=sys.stderr)
        return 2
    try:
        check_python()
        return COMMANDS[argv[0]](argv[1:])
    except Stop as reason:
        say(str(reason))
        return 1
    except OSError as error:
        say(f"the set-up failed: {error}.")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
