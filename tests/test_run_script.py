"""The set-up script, without a network: what it decides, records and says."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "run.py"
WHICH = shutil.which

if not SCRIPT.exists():
    pytest.skip("run.py is part of the repository, not of the package", allow_module_level=True)


def load():
    """Load the script as a module of its own."""
    spec = importlib.util.spec_from_file_location("veilspan_run_script", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


class Machine:
    """A set-up script in an empty project, with a recorder in place of every program."""

    def __init__(self, root, monkeypatch):
        self.script = load()
        self.root = root
        self.venv = root / ".venv"
        self.pyproject = root / "pyproject.toml"
        self.pyproject.write_text("[project]\n")
        self.calls = []
        self.fail = {}
        self.tools = set()
        monkeypatch.setattr(self.script, "ROOT", root)
        monkeypatch.setattr(self.script, "VENV", self.venv)
        monkeypatch.setattr(self.script, "call", self.call)
        monkeypatch.setattr(self.script, "run_tool", self.run_tool)
        monkeypatch.setattr(self.script, "answers", lambda: (self.venv / "pyvenv.cfg").exists())
        monkeypatch.setattr(self.script.shutil, "which", self.which)

    def which(self, name, *args, **kwargs):
        return f"/usr/bin/{name}" if name in self.tools else None

    def kind(self, command):
        if "venv" in command:
            return "make uv" if command[0] == "uv" else "make venv"
        if "install" in command:
            return "install uv" if command[0] == "uv" else "install pip"
        for tool in ("pytest", "sphinx"):
            if tool in command:
                return tool
        return " ".join([Path(command[0]).stem, *command[1:]])

    def call(self, command, environ=None, cwd=None):
        kind = self.kind(command)
        self.calls.append((kind, command))
        self.environ = environ
        outcome = self.fail.get(kind, 0)
        if isinstance(outcome, BaseException):
            raise outcome
        if kind.startswith("make") and outcome == 0:
            self.venv.mkdir()
            (self.venv / "pyvenv.cfg").write_text("")
        return outcome

    def run_tool(self, command, cwd=None):
        return self.call(command, cwd=cwd), "words of the tool"

    def run(self, *argv):
        """Run the script and return its exit code and the kinds of programs it started."""
        self.calls.clear()
        code = self.script.main(list(argv))
        return code, [kind for kind, _ in self.calls]

    def command(self, kind):
        return next(command for seen, command in self.calls if seen == kind)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


FRESH = ["make venv", "install pip"]


class TestArguments:
    @pytest.mark.parametrize("argv", [[], ["deom"], ["--demo"]])
    def test_unknown_command_prints_usage_and_returns_2(self, machine, capsys, argv):
        assert machine.run(*argv) == (2, [])
        assert "usage: python3 run.py" in capsys.readouterr().err

    @pytest.mark.parametrize("flag", ["-h", "--help"])
    def test_help_is_not_an_error(self, machine, capsys, flag):
        assert machine.run(flag) == (0, [])
        assert "usage: python3 run.py" in capsys.readouterr().out

    def test_demo_passes_its_arguments_on(self, machine):
        code, kinds = machine.run("demo", "--seed", "3", "-h")
        assert code == 0
        assert kinds == [*FRESH, "veilspan demo --seed 3 -h"]

    def test_studio_starts_the_studio(self, machine):
        assert machine.run("studio", "--demo") == (0, [*FRESH, "veilspan studio --demo"])
        assert machine.command("install pip")[-1] == ".[studio]"

    @pytest.mark.skipif(os.name == "nt", reason="quotes as a shell of Unix does")
    def test_veilspan_is_told_how_it_can_be_called(self, machine, monkeypatch, tmp_path):
        machine.run("demo")
        program = machine.script.program("veilspan")
        assert machine.environ["VEILSPAN_PROGRAM"] == shlex.quote(program)
        monkeypatch.chdir(tmp_path)
        machine.run("demo")
        assert machine.environ["VEILSPAN_PROGRAM"] == ".venv/bin/veilspan"

    def test_test_runs_pytest_in_parallel(self, machine, monkeypatch):
        monkeypatch.setattr(machine.script.os, "cpu_count", lambda: 2)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")  # the caller's own choice stands
        machine.run("test", "-k", "pca")
        words = ["-m", "pytest", "-n", "3", "--dist", "worksteal", "-k", "pca"]
        assert machine.command("pytest")[1:] == words
        threads = {name: machine.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS")}
        assert threads == {"OMP": "1", "OPENBLAS": "4"}

    @pytest.mark.parametrize("own", [["-n0"], ["-n", "3"], ["--pdb"], ["-p", "no:xdist"]])
    def test_the_callers_choice_of_workers_stands(self, machine, own):
        machine.run("test", *own)
        assert machine.command("pytest")[1:] == ["-m", "pytest", *own]

    def test_many_processors_do_not_mean_many_workers(self, machine, monkeypatch):
        monkeypatch.setattr(machine.script.os, "cpu_count", lambda: 128)
        assert machine.script.workers([])[:2] == ["-n", "8"]

    def test_lint_runs_every_check_and_returns_the_first_failure(self, machine):
        machine.fail["ruff format --check"] = 3
        code, kinds = machine.run("lint")
        assert code == 3
        assert kinds[2:] == ["ruff check", "ruff format --check", "mypy"]

    def test_lint_takes_no_arguments(self, machine):
        assert machine.run("lint", "--fix") == (2, [])

    def test_docs_builds_the_site_with_warnings_as_errors(self, machine):
        code, kinds = machine.run("docs", "-q")
        assert (code, kinds[-1]) == (0, "sphinx")
        assert machine.command("sphinx")[1:5] == ["-m", "sphinx", "-W", "--keep-going"]
        assert machine.command("install pip")[-1] == ".[docs]"

    def test_exit_code_is_the_commands(self, machine):
        machine.fail["veilspan demo"] = 7
        assert machine.run("demo")[0] == 7


class TestRecord:
    def test_first_run_installs_editable_and_records(self, machine):
        assert machine.run("demo") == (0, [*FRESH, "veilspan demo"])
        assert machine.command("install pip")[-2:] == ["--editable", ".[plots,studio]"]
        assert json.loads(machine.script.stamp().read_text())["extras"] == ["plots", "studio"]

    def test_second_run_installs_nothing(self, machine):
        machine.run("demo")
        assert machine.run("demo") == (0, ["veilspan demo"])

    def test_extras_add_up_in_the_same_environment(self, machine):
        machine.run("demo")
        assert machine.run("test") == (0, ["install pip", "pytest"])
        assert machine.run("lint")[1][0] == "install pip"
        assert machine.command("install pip")[-1] == ".[lint,plots,studio,test]"
        assert machine.run("test") == (0, ["pytest"])
        assert machine.run("demo") == (0, ["veilspan demo"])

    def test_changed_pyproject_installs_again_with_the_same_extras(self, machine):
        machine.run("test")
        machine.pyproject.write_text("[project]\nname = 'other'\n")
        assert machine.run("demo") == (0, ["install pip", "veilspan demo"])
        assert machine.command("install pip")[-1] == ".[plots,studio,test]"

    def test_changed_version_installs_again(self, machine):
        machine.run("demo")
        version = machine.root / "src" / "veilspan" / "_version.py"
        version.parent.mkdir(parents=True)
        version.write_text("__version__ = '2'\n")
        assert machine.run("demo") == (0, ["install pip", "veilspan demo"])

    @pytest.mark.parametrize("step", ["make venv", "install pip"])
    def test_killed_half_way_is_made_again(self, machine, step):
        machine.fail[step] = SystemExit(137)
        with pytest.raises(SystemExit):
            machine.run("demo")
        assert not machine.script.stamp().exists()
        machine.fail.clear()
        assert machine.run("demo") == (0, [*FRESH, "veilspan demo"])

    def test_killed_while_adding_an_extra_is_made_again(self, machine):
        machine.run("demo")
        machine.fail["install pip"] = SystemExit(137)
        with pytest.raises(SystemExit):
            machine.run("test")
        machine.fail.clear()
        assert machine.run("test") == (0, [*FRESH, "pytest"])

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
    def test_damaged_record_is_made_again(self, machine, text):
        machine.run("demo")
        machine.script.stamp().write_text(text)
        assert machine.run("demo") == (0, [*FRESH, "veilspan demo"])

    def test_broken_environment_is_made_again(self, machine):
        machine.run("demo")
        (machine.venv / "pyvenv.cfg").unlink()
        assert machine.run("demo") == (0, [*FRESH, "veilspan demo"])

    def test_moved_environment_is_made_again(self, machine, monkeypatch):
        machine.run("demo")
        moved = machine.root / "elsewhere"
        moved.mkdir()
        machine.venv.rename(moved / ".venv")
        machine.venv = moved / ".venv"
        monkeypatch.setattr(machine.script, "VENV", machine.venv)
        assert machine.run("demo") == (0, [*FRESH, "veilspan demo"])

    def test_other_python_version_is_made_again(self, machine, monkeypatch):
        machine.run("demo")
        monkeypatch.setattr(machine.script.sys, "version_info", (3, 99, 0))
        assert machine.run("demo") == (0, [*FRESH, "veilspan demo"])

    def test_a_directory_that_is_no_environment_is_left_alone(self, machine, capsys):
        machine.venv.mkdir()
        (machine.venv / "thesis.txt").write_text("mine")
        assert machine.run("demo") == (1, [])
        assert (machine.venv / "thesis.txt").exists()
        assert "not a virtual environment" in capsys.readouterr().err


class TestTools:
    def test_uv_is_preferred(self, machine):
        machine.tools.add("uv")
        assert machine.run("test") == (0, ["make uv", "install uv", "pytest"])
        assert machine.script.base_python() in machine.command("make uv")
        assert machine.script.program("python") in machine.command("install uv")

    def test_venv_and_pip_otherwise(self, machine):
        assert machine.run("test") == (0, [*FRESH, "pytest"])
        assert machine.command("make venv")[0] == machine.script.base_python()
        assert machine.command("install pip")[0] == machine.script.program("python")

    @pytest.mark.parametrize("step", ["make uv", "install uv"])
    def test_pip_takes_over_once_where_uv_fails(self, machine, capsys, step):
        machine.tools.add("uv")
        machine.fail[step] = 2
        code, kinds = machine.run("demo")
        assert code == 0
        assert kinds[-3:] == [*FRESH, "veilspan demo"]
        assert "Trying venv and pip instead." in capsys.readouterr().err
        assert machine.run("test") == (0, ["install pip", "pytest"])

    def test_an_environment_of_uv_is_made_again_where_uv_is_gone(self, machine):
        machine.tools.add("uv")
        machine.run("demo")
        machine.tools.clear()
        assert machine.run("demo") == (0, ["veilspan demo"])
        assert machine.run("test") == (0, [*FRESH, "pytest"])

    @pytest.mark.skipif(os.name == "nt", reason="makes an executable script")
    def test_uv_is_looked_for_on_path(self, machine, tmp_path, monkeypatch):
        monkeypatch.setattr(machine.script.shutil, "which", WHICH)
        programs = tmp_path / "programs"
        programs.mkdir()
        monkeypatch.setenv("PATH", str(programs))
        assert "make venv" in machine.run("demo")[1]
        (programs / "uv").write_text("#!/bin/sh\n")
        (programs / "uv").chmod(0o755)
        machine.script.stamp().unlink()
        assert "make uv" in machine.run("demo")[1]


class TestSentences:
    def one_line(self, capsys):
        lines = capsys.readouterr().err.splitlines()
        return [line for line in lines if " ... " not in line]

    @pytest.mark.parametrize("missing", ["venv", "ensurepip"])
    def test_missing_venv(self, machine, monkeypatch, capsys, missing):
        monkeypatch.setattr(machine.script, "has_module", lambda name: name != missing)
        assert machine.run("demo") == (1, [])
        (line,) = self.one_line(capsys)
        assert "venv is missing: run `apt install python3-venv`" in line

    def test_missing_venv_does_not_matter_to_uv(self, machine, monkeypatch):
        monkeypatch.setattr(machine.script, "has_module", lambda name: False)
        machine.tools.add("uv")
        assert machine.run("demo")[0] == 0

    def test_has_module(self, machine):
        assert machine.script.has_module("json")
        assert not machine.script.has_module("no_such_module_of_python")

    def test_old_python(self, machine, monkeypatch, capsys):
        monkeypatch.setattr(machine.script.sys, "version_info", (3, 9, 18))
        assert machine.run("demo") == (1, [])
        (line,) = self.one_line(capsys)
        assert line.endswith("Python 3.11 or newer is needed, and this is Python 3.9.")

    def test_network_failure(self, machine, capsys):
        machine.fail["install pip"] = 1
        assert machine.run("demo")[0] == 1
        line, words = self.one_line(capsys)
        assert "pip could not install the package" in line
        assert words == "words of the tool"

    def test_a_stage_is_one_line_with_its_time_and_no_word_of_the_tool(self, machine, capsys):
        machine.run("demo")
        making, installing = capsys.readouterr().err.splitlines()
        assert re.fullmatch(r"run\.py: making \.venv with venv \.\.\. \d+ s", making)
        assert re.fullmatch(
            r"run\.py: installing veilspan\[plots,studio\] .*\.\.\. \d+ s", installing
        )

    def test_a_stage_that_fails_says_so_on_its_line(self, machine, capsys):
        machine.fail["make venv"] = 1
        assert machine.run("demo")[0] == 1
        assert capsys.readouterr().err.splitlines() == [
            "run.py: making .venv with venv ... stopped",
            "run.py: pip could not make .venv. It said:",
            "words of the tool",
        ]

    def test_interrupt(self, machine):
        machine.fail["install pip"] = KeyboardInterrupt()
        assert machine.run("demo")[0] == 130


class TestEnvironment:
    def test_the_callers_environment_does_not_leak(self, machine, monkeypatch):
        for name in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET"):
            monkeypatch.setenv(name, "elsewhere")
        assert "elsewhere" not in machine.script.clean_environ().values()
        environ = machine.script.venv_environ()
        assert environ["VIRTUAL_ENV"] == str(machine.venv)
        first = environ["PATH"].split(os.pathsep)[0]
        assert first == str(Path(machine.script.program("python")).parent)

    @pytest.mark.parametrize(
        ("system", "expected"), [("posix", "bin/python"), ("nt", "Scripts/python.exe")]
    )
    def test_programs_on_each_system(self, machine, monkeypatch, system, expected):
        fake = type("FakeOs", (), {"name": system})
        monkeypatch.setattr(machine.script, "os", fake)
        assert Path(machine.script.program("python")) == machine.venv / expected

    def test_signals_become_exit_codes(self, tmp_path, monkeypatch):
        script = load()
        monkeypatch.setattr(script.subprocess, "call", lambda *args, **kwargs: -9)
        assert script.call(["anything"]) == 137

    def test_a_program_that_cannot_start_is_a_sentence(self, tmp_path):
        script = load()
        with pytest.raises(script.ToolFailed, match="cannot run"):
            script.call([str(tmp_path / "nothing")])

    def test_a_tool_is_silent_and_its_words_are_kept(self, capfd):
        speak = "import sys; print('out'); print('warn', file=sys.stderr); sys.exit(3)"
        code, words = load().run_tool([sys.executable, "-c", speak])
        assert (code, sorted(words.split())) == (3, ["out", "warn"])
        assert capfd.readouterr() == ("", "")

    def test_a_tool_that_cannot_start_is_a_sentence(self, tmp_path):
        script = load()
        with pytest.raises(script.ToolFailed, match="cannot run"):
            script.run_tool([str(tmp_path / "nothing")])

    def test_an_environment_without_python_does_not_answer(self, tmp_path, monkeypatch):
        script = load()
        monkeypatch.setattr(script, "VENV", tmp_path)
        assert not script.answers()


def test_the_script_starts_on_its_own(tmp_path):
    command = [sys.executable, "-I", str(SCRIPT), "nonsense"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")
