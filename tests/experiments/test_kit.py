"""What all experiments share: the list, parts that survive a break, results on disk."""

import gzip
import json
import math
from importlib import import_module

import numpy as np
import pytest

from experiments import cells, recheck, registry, style, values
from experiments import job as jobs

FIGURES = {
    "robust-pca": [f"fig{k}" for k in range(1, 10)],
    "riemannian": ["fig1", "fig2", "fig3", "table2"],
    "grouse": ["fig1", "fig2", "fig3"],
    "recommend": ["fig2", "table1", "table2"],
    "erm": ["table1", "table2", "table3"],
}


def test_every_figure_and_table_is_listed():
    names = {item.name for item in registry.ITEMS}
    assert {f"{p}-{f}" for p, figures in FIGURES.items() for f in figures} <= names
    assert len(names) == len(registry.ITEMS)


@pytest.mark.parametrize("item", registry.ITEMS, ids=lambda item: item.name)
def test_every_item_has_its_function(item):
    assert callable(getattr(import_module(f"experiments.{item.module}"), item.call))


def test_choosing_by_name_paper_and_all():
    assert registry.choose(["all"]) == list(registry.ITEMS)
    grouse = registry.choose(["grouse", "grouse-fig1"])
    assert [item.paper for item in grouse] == ["grouse"] * 5
    with pytest.raises(ValueError, match="nothing to reproduce is called fig99"):
        registry.choose(["fig99"])


def test_plain_values_are_json_for_every_reader():
    messy = {"a": np.float64(1.5), 2: np.arange(3), "c": (math.inf, -math.inf, math.nan)}
    clean = values.plain(messy)
    assert clean == {"a": 1.5, "2": [0, 1, 2], "c": ["inf", "-inf", None]}
    json.dumps(clean, allow_nan=False)
    assert values.number("inf") == math.inf
    assert math.isnan(values.number(None))


def opened(path, digest=lambda module: "as ever", **run):
    return cells.Cells(path, {"item": "x", "code": "a", **run}, digest)


def never():
    raise AssertionError("computed again")


def test_parts_survive_a_break(tmp_path):
    path = tmp_path / "x.jsonl"
    first = opened(path)
    assert first.get(["a", 1], lambda: {"error": np.array([0.1, 0.2])}) == {"error": [0.1, 0.2]}
    first.get(["a", 2], lambda: 7)
    again = opened(path)
    assert again.resumed == 2
    assert again.get(["a", 1], never) == {"error": [0.1, 0.2]}
    assert again.get(["a", 2], never) == 7


def test_a_line_cut_off_by_a_crash_is_dropped(tmp_path):
    path = tmp_path / "x.jsonl"
    first = opened(path)
    first.get("a", lambda: 1)
    first.get("b", lambda: 2)
    path.write_text(path.read_text()[:-5])
    again = opened(path)
    assert again.resumed == 1
    assert again.get("b", lambda: 3) == 3
    assert opened(path).get("b", lambda: 4) == 3


def test_parts_of_another_run_are_not_used(tmp_path):
    path = tmp_path / "x.jsonl"
    opened(path).get("a", lambda: 1)
    assert opened(path, scale="full").resumed == 0


def test_a_part_is_bound_to_the_module_that_made_it(tmp_path):
    path = tmp_path / "x.jsonl"
    first = opened(path)
    first.get("ours", lambda: 1)
    first.get("rival", lambda: 2, "tables.rivals")
    again = opened(path, code="b")  # the item has changed, the rival has not
    assert again.resumed == 1
    assert again.get("rival", never, "tables.rivals") == 2
    assert again.get("ours", lambda: 3) == 3
    asked = []
    changed = opened(path, lambda module: asked.append(module) or "new", code="b")
    assert set(asked) == {"experiments.tables.rivals"}
    assert changed.get("ours", never) == 3
    assert changed.get("rival", lambda: 4, "tables.rivals") == 4
    assert changed.get("ours", lambda: 5, "tables.rivals") == 5  # another maker, another figure
    changed.keep(tmp_path / "kept.gz")
    kept = gzip.decompress((tmp_path / "kept.gz").read_bytes()).splitlines()[1:]
    assert [json.loads(line)["code"] for line in kept] == ["new", "new"]


def test_parts_of_other_code_are_not_used(tiny_job, monkeypatch):
    tiny_job("grouse-fig1").cell("a", lambda: 1)
    assert tiny_job("grouse-fig1")._cells.resumed == 1
    monkeypatch.setattr(jobs, "digest_imports", lambda module: "other")
    assert tiny_job("grouse-fig1")._cells.resumed == 0


def test_a_job_writes_whole_results_and_puts_its_parts_beside_them(tiny_job, tmp_path):
    job = tiny_job("grouse-fig1")
    job.cell("a", lambda: 1)
    assert job.file("tiny.cells.jsonl").exists()
    claim = jobs.Claim("fast", "1 s", np.bool_(True))
    cost = jobs.Cost("printed", 1.0, math.inf, 1e-6, "replace-one")
    job.finish("it works", [{"x": 1, "y": np.float64(2)}], [claim], costs=[cost], n=np.int64(3))
    record = json.loads(job.file("json").read_text())
    assert record["claims"] == [{"claim": "fast", "measured": "1 s", "holds": True, "who": "paper"}]
    assert record["costs"][0]["true"] == "inf"
    assert record["facts"] == {"n": 3}
    assert job.file("csv").read_text() == "x,y\n1,2.0\n"
    names = [f"grouse-fig1.{suffix}" for suffix in ("csv", "json", "parts.jsonl.gz")]
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_pictures_are_the_same_files_each_time(tiny_job, tmp_path):
    found = []
    for _ in range(2):
        figure, axes = style.panels(1, 2)
        axes[0, 0].plot([1, 2], [3, 4], **style.OURS.line(label="ours"))
        style.title(figure, "a title that says what is seen")
        tiny_job("grouse-fig2").picture(figure)
        found.append([(tmp_path / f"grouse-fig2.{s}").read_bytes() for s in ("png", "svg")])
    assert found[0] == found[1]


def test_a_line_without_its_end_is_not_glued_to_the_next(tmp_path):
    path = tmp_path / "x.jsonl"
    first = opened(path)
    for part in "abc":
        first.get(part, lambda: 1)
    path.write_text(path.read_text()[:-1])
    again = opened(path)
    again.get("d", lambda: 2)
    assert opened(path).resumed == 4


def test_another_folder_of_data_is_another_run(tiny_job, tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    first = tiny_job("grouse-fig1", scale="full", data=folders[0])
    first.cell("part", lambda: 1)
    assert tiny_job("grouse-fig1", scale="full", data=folders[0]).cell("part", lambda: 2) == 1
    assert tiny_job("grouse-fig1", scale="full", data=folders[1]).cell("part", lambda: 2) == 2


def test_a_quick_run_keeps_the_parts_and_the_results_of_a_full_one(tiny_job):
    full = tiny_job("grouse-fig1", scale="full")
    full.cell("part", lambda: 1)
    tiny_job("grouse-fig1", scale="quick").cell("part", lambda: 2)
    assert tiny_job("grouse-fig1", scale="full").cell("part", lambda: 3) == 1
    full.finish("done", [{"x": 1}], [])
    with pytest.raises(ValueError, match="holds a full run of grouse-fig1"):
        tiny_job("grouse-fig1", scale="quick")
    tiny_job("grouse-fig1", scale="quick", fresh=True)


def test_a_record_says_which_code_made_it(tiny_job):
    job = tiny_job("grouse-fig1")
    job.finish("done", [{"x": 1}], [])
    assert json.loads(job.file("json").read_text())["code"] == jobs.code_digest(job.item)


def finished_job(tiny_job, count=60):
    job = tiny_job("grouse-fig1")
    for k in range(count):
        job.cell(["part", k], lambda k=k: {"value": k / 7, "cpu_seconds": 0.1})
    return job.finish("done", [{"x": 1}], [])


def recheck_job(tiny_job, change=lambda k: 0.0, count=60):
    """Run the same job again on the kept parts; returns the record and the parts computed."""
    job, again = tiny_job("grouse-fig1", recheck=True), []

    def compute(k):
        again.append(k)
        return {"value": k / 7 + change(k), "cpu_seconds": 9.0}

    for _ in range(2):  # a part that is asked for twice is computed once
        for k in range(count):
            assert job.cell(["part", k], lambda k=k: compute(k))["value"] == k / 7
    return job.finish("done", [{"x": 1}], []), again


def test_a_recheck_names_todays_code_and_the_parts_that_it_computed(tiny_job, monkeypatch):
    made = finished_job(tiny_job)
    monkeypatch.setattr(jobs, "digest_imports", lambda module: "today")
    record, again = recheck_job(tiny_job)
    assert len(again) == len(set(again)) == recheck.LEAST
    assert record["code"] == "today"
    assert record["rechecked"]["made_by"] == made["code"]
    assert (record["rechecked"]["parts"], record["rechecked"]["of"]) == (recheck.LEAST, 60)
    assert record["cpu_seconds"] == made["cpu_seconds"]
    monkeypatch.setattr(jobs, "digest_imports", lambda module: "tomorrow")
    assert set(recheck_job(tiny_job)[1]) != set(again)  # the code chooses, nobody else


def test_a_recheck_chooses_among_the_parts_whose_own_code_changed(tiny_job, monkeypatch):
    job = tiny_job("grouse-fig1")
    for k in range(8):
        job.cell(k, lambda k=k: k, "grouse.fig1" if k % 2 else "grouse.fig2")
    job.finish("done", [{"x": 1}], [])
    same = jobs.digest_imports("experiments.grouse.fig2")
    monkeypatch.setattr(jobs, "digest_imports", lambda m: same if m.endswith("fig2") else "today")
    again, job = [], tiny_job("grouse-fig1", recheck=True)
    for k in range(8):
        job.cell(k, lambda k=k: again.append(k) or k, "grouse.fig1" if k % 2 else "grouse.fig2")
    assert again == [1, 3, 5, 7]
    record = job.finish("done", [{"x": 1}], [])
    assert (record["rechecked"]["parts"], record["rechecked"]["of"]) == (4, 8)
    other = tiny_job("grouse-fig1", recheck=True)
    with pytest.raises(ValueError, match="of the same maker"):
        other.cell(1, never, "grouse.fig2")


def test_a_recheck_refuses_a_figure_that_changed_in_its_last_digit(tiny_job, monkeypatch):
    finished_job(tiny_job)
    before = tiny_job("grouse-fig1").file("json").read_bytes()
    monkeypatch.setattr(jobs, "digest_imports", lambda module: "today")
    with pytest.raises(ValueError, match="comes out differently today: run it in full"):
        recheck_job(tiny_job, change=lambda k: 1e-15 * (k + 1))
    assert tiny_job("grouse-fig1").file("json").read_bytes() == before


def test_a_recheck_refuses_other_parts(tiny_job):
    finished_job(tiny_job)
    with pytest.raises(ValueError, match="has no part"):
        recheck_job(tiny_job, count=61)
    with pytest.raises(ValueError, match="20 kept parts are not asked for"):
        recheck_job(tiny_job, count=40)


def test_a_recheck_needs_whole_parts_of_the_same_run(tiny_job):
    with pytest.raises(ValueError, match="only a run whose parts were kept"):
        tiny_job("grouse-fig1", recheck=True)
    finished_job(tiny_job)
    path = tiny_job("grouse-fig1").file("parts.jsonl.gz")
    with pytest.raises(ValueError, match="parts of another run"):
        tiny_job("grouse-fig1", recheck=True, peers=True)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="cannot be read"):
        tiny_job("grouse-fig1", recheck=True)


def test_kept_parts_do_not_say_where_the_data_lay(tiny_job, tmp_path):
    (tmp_path / "hers").mkdir()
    job = tiny_job("grouse-fig1", scale="full", data=tmp_path / "hers")
    job.cell("a", lambda: 1)
    job.finish("done", [{"x": 1}], [])
    assert b"hers" not in gzip.decompress(job.file("parts.jsonl.gz").read_bytes())
