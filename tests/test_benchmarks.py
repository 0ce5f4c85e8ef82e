"""The runner of the speed suites: what counts as slower, what is stored. No times are tested."""

import ast
import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def compare():
    return load("_compare")


@pytest.fixture
def report(monkeypatch, tmp_path):
    monkeypatch.setenv("VEILSPAN_BENCHMARK_RESULTS", str(tmp_path / "results"))
    return load("_report")


@pytest.fixture
def runner(monkeypatch):
    for name in ("_compare", "_report", "_limits", "_side_by_side"):  # they import by these names
        monkeypatch.setitem(sys.modules, name, load(name))
    return load("_run")


def ratio(case="fit", value=2.0, other="peer A", kind="peer", target=None):
    return {"case": case, "ours": value, "other": 1.0, "other_name": other, "kind": kind,
            "ratio": value, "target": target}  # fmt: skip


def run_of(suites, scale="quick"):
    return {"schema": 1, "scale": scale, "stamp": "x", "suites": suites}


def before(compare, suites):
    return dict(compare.keyed(suites))


# ---------------------------------------------------------------- what is slower


@pytest.mark.parametrize(("now", "found"), [(2.0, 0), (1.0, 0), (2.99, 0), (3.01, 1), (30.0, 1)])
def test_a_ratio_is_worse_beyond_one_and_a_half_times_the_last(compare, now, found):
    stored = before(compare, {"pca": [ratio(value=2.0)]})
    result = compare.compare({"pca": [ratio(value=now)]}, stored)
    assert len(result.regressions) == found
    assert (result.compared, result.new, result.gone) == (1, 0, 0)


def test_a_regression_names_everything(compare):
    stored = before(compare, {"pca": [ratio(value=2.0)]})
    (one,) = compare.compare({"pca": [ratio(value=5.0)]}, stored).regressions
    assert str(one) == "pca: fit, beside peer A: 2 before, 5 now (2.50 times)"


def test_ratios_of_other_cases_peers_and_kinds_are_not_compared(compare):
    stored = before(compare, {"pca": [ratio(value=1.0)], "noise": [ratio(value=1.0)]})
    strangers = [ratio("other", 9), ratio(value=9, other="peer B"), ratio(value=9, kind="limit")]
    result = compare.compare({"pca": strangers}, stored)
    assert result.regressions == []
    # The suite that was not run is not missed; the ratio that its own suite lacks is.
    assert (result.compared, result.new, result.gone) == (0, 3, 1)


def test_a_first_run_has_nothing_to_be_compared_with(compare):
    result = compare.compare({"pca": [ratio()]}, {})
    assert (result.regressions, result.compared, result.new) == ([], 0, 1)


def test_the_better_of_two_measurements_counts(compare):
    first = [ratio("a", 9.0), ratio("b", 1.0)]
    second = [ratio("a", 2.0), ratio("b", 3.0), ratio("c", 4.0)]
    best = {one["case"]: one["ratio"] for one in compare.better(first, second)}
    assert best == {"a": 2.0, "b": 1.0, "c": 4.0}


# ---------------------------------------------------------------- two commits in turns


@pytest.fixture
def beside(monkeypatch, compare):
    monkeypatch.setitem(sys.modules, "_compare", compare)
    return load("_side_by_side")


@pytest.mark.parametrize(
    ("before", "now", "slower"),
    [
        ((1.0, 1.1, 1.0), (1.3, 1.4, 1.3), True),
        ((1.0, 1.35, 1.0), (1.3, 1.4, 1.3), False),  # the ranges overlap
        ((1.0, 1.0, 1.0), (1.19, 1.19, 1.19), False),  # apart, but by less than 1.2
        ((1.3, 1.4, 1.3), (1.0, 1.1, 1.0), False),
    ],
)
def test_slower_is_beyond_a_fifth_and_beyond_the_spread(beside, before, now, slower):
    (one,) = beside.changes(
        "pca", [[ratio(value=v)] for v in now], [[ratio(value=v)] for v in before]
    )
    assert one.slower is slower
    assert one.row()[-1] == ("SLOWER" if slower else "noisy" if one.times > 1.2 else "")


def test_both_sides_are_measured_in_turns_and_each_goes_first(beside):
    order = []

    def side(name):
        def measure():
            order.append(name)
            return [ratio()]

        return measure

    now, before = beside.alternate(4, side("now"), side("before"))
    assert len(now) == len(before) == 4
    assert order == ["before", "now", "now", "before"] * 2
    assert beside.alternate(4, side("now"), lambda: None) is None


def test_a_baseline_of_several_runs_keeps_medians_and_ranges(beside):
    runs = [[ratio("a", v), ratio("b", 1.0)] for v in (3.0, 1.0, 2.0)]
    runs[1] = runs[1][:1]  # a ratio that one repetition lacks has no median
    (one,) = beside.medians(runs)
    assert (one["case"], one["ratio"], one["least"], one["most"]) == ("a", 2.0, 1.0, 3.0)


def test_another_commit_is_laid_out_whole(beside):
    if not (beside.ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    with beside.checkout("HEAD") as folder:
        assert (folder / "src" / "veilspan" / "__init__.py").exists()
        assert beside.environ_of(folder)["PYTHONPATH"] == str(folder / "src")
    assert not folder.exists()


# ---------------------------------------------------------------- what is stored


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_each_suite_is_compared_with_the_last_run_that_had_it(compare, tmp_path):
    old = run_of({"pca": [ratio(value=1.0)], "noise": [ratio(value=5.0)]})
    write(tmp_path / "20260101T000000Z.json", old)
    write(tmp_path / "20260102T000000Z.json", run_of({"pca": [ratio(value=2.0)]}))
    write(tmp_path / "20260103T000000Z.json", run_of({"pca": [ratio(value=9.0)]}, "full"))
    write(tmp_path / "latest.json", old)
    runs = compare.stored_runs(tmp_path)
    assert [path.name[:8] for path in runs] == ["20260103", "20260102", "20260101"]
    found, broken = compare.last_ratios(runs, "quick")
    assert broken == []
    assert found == {
        ("pca", "fit", "peer", "peer A"): 2.0,
        ("noise", "fit", "peer", "peer A"): 5.0,
    }


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "7", "{}", '{"schema": 2, "scale": "quick", "suites": {}}',
     '{"schema": 1, "scale": "quick", "suites": {"pca": [{"case": "x"}]}}',
     '{"schema": 1, "scale": "quick", "suites": [1]}'],
)  # fmt: skip
def test_a_corrupted_file_is_named_and_passed_over(compare, tmp_path, content):
    good = write(tmp_path / "20260101T000000Z.json", run_of({"pca": [ratio(value=1.0)]}))
    bad = write(tmp_path / "20260102T000000Z.json", content)
    found, broken = compare.last_ratios([bad, tmp_path / "absent.json", good], "quick")
    assert broken == ["20260102T000000Z.json"]
    assert list(found.values()) == [1.0]


def test_a_baseline_keeps_the_suites_that_a_run_has_not(compare):
    old = run_of({"pca": [ratio(value=1.0)], "noise": [ratio(value=5.0)]})
    new = run_of({"pca": [ratio(value=2.0)]})
    assert compare.merged(old, new)["suites"] == {**old["suites"], **new["suites"]}
    assert compare.merged(None, new) == new
    assert compare.merged(run_of({"noise": []}, "full"), new) == new


def test_runs_are_written_whole_or_not_at_all(compare, tmp_path):
    path = tmp_path / "deep" / "run.json"
    compare.store(run_of({"pca": [ratio()]}), path)
    kept = path.read_text()
    with pytest.raises(ValueError, match="not JSON compliant"):
        compare.store(run_of({"pca": [ratio(value=float("nan"))]}), path)
    assert path.read_text() == kept
    assert [file.name for file in path.parent.iterdir()] == ["run.json"]


def test_a_suite_saves_its_ratios(report):
    none = report.ratio("fit", 2.0, None, "absent", "peer")
    report.save("pca", {"a": 1}, [report.ratio("fit", 2.0, 4.0, "p", "peer", 1), none])
    stored = json.loads((report.RESULTS / "pca.json").read_text())
    assert stored["results"] == {"a": 1}
    assert [one["ratio"] for one in stored["ratios"]] == [0.5]
    with pytest.raises(TypeError):
        report.save("pca", {"a": object()})
    assert json.loads((report.RESULTS / "pca.json").read_text()) == stored


@pytest.mark.parametrize(("ours", "other"), [(1.0, 0.0), (float("inf"), 1.0), (1.0, float("nan"))])
def test_no_ratio_without_two_times(report, ours, other):
    assert report.ratio("fit", ours, other, "p", "peer") is None
    with pytest.raises(ValueError, match="peer or limit"):
        report.ratio("fit", 1.0, 1.0, "p", "friend")


# ---------------------------------------------------------------- the runner


@pytest.fixture
def staged(runner, monkeypatch, tmp_path):
    """The runner with made-up suites: a list of answers for each call of ``measure``."""
    monkeypatch.setattr(runner, "HERE", tmp_path / "benchmarks")
    monkeypatch.setattr(runner, "HISTORY", tmp_path / "benchmarks" / "results" / "history")
    monkeypatch.setattr(runner, "BASELINE", tmp_path / "benchmarks" / "baseline.json")
    limits = type("Fixed", (), {"as_dict": lambda self: dict.fromkeys(
        ("dgemm", "sgemm", "copy", "triad"), 1e9)})  # fmt: skip
    monkeypatch.setattr(runner, "measure_limits", limits)

    def run(*answers, arguments=("--quick", "pca")):
        waiting = list(answers)
        monkeypatch.setattr(runner, "measure", lambda suite, options: waiting.pop(0))
        code = runner.main(list(arguments))
        assert waiting == []
        return code

    return run


def test_a_slow_suite_is_measured_again_and_then_reported(staged, capsys):
    assert staged([ratio(value=1.0)]) == 0
    assert "No stored run" in capsys.readouterr().out
    assert staged([ratio(value=9.0)], [ratio(value=1.2)]) == 0
    assert "None is more than 1.5" in capsys.readouterr().out
    assert staged([ratio(value=9.0)], [ratio(value=3.0)]) == 3
    assert "SLOWER: pca: fit" in capsys.readouterr().out


def test_a_suite_that_fails_is_said_and_the_others_are_kept(staged, capsys):
    assert staged(None, [ratio(value=1.0)], arguments=("--quick", "pca", "noise")) == 1
    assert "Without an answer, see above: noise" in capsys.readouterr().out
    assert staged([ratio(value=1.0)]) == 0


def test_a_run_without_any_answer_is_not_stored(staged, runner):
    assert staged(None) == 1
    assert not runner.HISTORY.exists()


def test_an_interrupted_run_keeps_what_it_has(staged, runner, monkeypatch, capsys):
    def measure(suite, options):
        if suite.name == "pca":
            raise KeyboardInterrupt
        return [ratio(value=1.0)]

    monkeypatch.setattr(runner, "measure", measure)
    assert runner.main(["--quick", "noise", "pca", "tracking"]) == 1
    assert "Without an answer, see above: pca, tracking" in capsys.readouterr().out
    stored = json.loads((runner.HISTORY / "latest.json").read_text())
    assert list(stored["suites"]) == ["noise"]


def test_another_scale_is_not_compared_with(staged, capsys):
    assert staged([ratio(value=1.0)]) == 0
    assert staged([ratio(value=9.0)], arguments=("pca",)) == 0
    assert staged([ratio(value=9.0)], arguments=("--quick", "--data", "x", "pca")) == 0


def test_a_fresh_clone_is_compared_with_the_baseline(staged, runner, capsys):
    assert staged([ratio(value=1.0)], arguments=("--quick", "--update-baseline", "pca")) == 0
    for path in runner.HISTORY.iterdir():
        path.unlink()
    assert staged([ratio(value=9.0)], [ratio(value=9.0)]) == 3


def test_the_table_shows_the_best_peer_the_nearest_limit_and_the_target(runner):
    ones = [ratio(value=0.5, other="slow"), ratio(value=2.0, other="quick", target=3.0),
            ratio(value=4.0, kind="limit", other="gemm"),
            ratio(value=40.0, kind="limit", other="memory")]  # fmt: skip
    assert runner.rows_of("pca", ones) == [["pca", "fit", "2", "quick", "4", "gemm", "3 met"]]
    missed = runner.rows_of("pca", [ratio(value=2.0, target=1.5)])
    assert missed == [["pca", "fit", "2", "peer A", "-", "-", "1.5 MISSED"]]


def test_long_suites_show_their_worst_cases(runner):
    rows = runner.rows_of("geometry", [ratio(f"case {k}", float(k + 1)) for k in range(40)])
    assert len(rows) == runner.MOST_ROWS + 1
    assert rows[0][1] == "case 39"
    assert "28 cases" in rows[-1][1]


def test_suites_are_scripts_that_take_the_options_they_are_given(runner):
    for suite in runner.SUITES:
        text = (FOLDER / suite.script).read_text()
        words = suite.command(quick=True, peers=False, data=Path("x"))[2:]
        options = [word for word in words if word.startswith("--")]
        defined = {
            node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)
        }
        assert set(options) <= defined
        assert f'save("{suite.name}"' in text


def test_a_shared_script_is_this_checkouts_on_both_sources(runner, monkeypatch, tmp_path):
    asked = []

    def run(command, env, **_):
        asked.append((Path(command[1]), env["PYTHONPATH"]))
        return subprocess.CompletedProcess(command, 1, "", "")

    monkeypatch.setattr(runner.subprocess, "run", run)
    options = runner.parsed(["--quick"])
    for shared in (False, True):
        suite = runner.Suite("defaults", "defaults.py", shared=shared)
        assert runner.measure(suite, options, tmp_path) is None
    own, carried = asked
    assert own[0] == tmp_path / "benchmarks" / "defaults.py"
    assert carried[0] == runner.HERE / "defaults.py"
    assert {own[1], carried[1]} == {str(tmp_path / "src")}


def test_the_committed_baseline_can_be_read(compare):
    record = compare.read_run(FOLDER / "baseline.json")
    assert record["scale"] == "quick"
    assert all(record["suites"].values())


def test_the_command_runs_from_a_checkout():
    command = [sys.executable, str(FOLDER / "run"), "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "linear_models  linear_models.py" in done.stdout
    command[-1] = "nonsense"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no suite is called nonsense" in done.stderr


@pytest.mark.parametrize(
    ("name", "most"), [("RobustPCA", 54), ("PCA", 56), ("LogisticRegression", 60)]
)
def test_a_reader_changes_files_no_more_often_than_this(name, most):
    """What ``benchmarks/file_switches.py`` prints: one step more to an answer shows here."""
    switches = load("file_switches")
    calls = switches.trace_calls(switches.make_fits()[name])
    assert switches.count_switches(calls) <= most


@pytest.mark.parametrize("name", ["LogisticRegression", "MatrixCompletion"])
def test_the_auto_rule_is_chosen_once(name):
    switches = load("file_switches")
    assert switches.count_choices(switches.make_fits()[name]) == 1


def names_used(tree):
    """(module, name) of everything of the library that a suite names, through aliases too."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {a.asname: a.name for a in node.names if a.asname and "veilspan" in a.name}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("veilspan"):
            yield from ((node.module, name.name) for name in node.names)
    for node in ast.walk(tree):
        value = getattr(node, "value", None)
        if isinstance(node, ast.Attribute) and getattr(value, "id", None) in aliases:
            yield aliases[value.id], node.attr


@pytest.mark.parametrize("suite", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_what_a_suite_names_exists(suite):
    for module, name in names_used(ast.parse(suite.read_text(encoding="utf-8"))):
        found = importlib.import_module(module)
        if not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")  # a module of the package
