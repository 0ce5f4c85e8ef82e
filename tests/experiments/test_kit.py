"""What all experiments share: the list, parts that survive a break, results on disk."""

import json
import math
from importlib import import_module

import numpy as np
import pytest

from experiments import cells, registry, style, values
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
    assert [item.paper for item in grouse] == ["grouse"] * 4
    with pytest.raises(ValueError, match="nothing to reproduce is called fig99"):
        registry.choose(["fig99"])


def test_plain_values_are_json_for_every_reader():
    messy = {"a": np.float64(1.5), 2: np.arange(3), "c": (math.inf, -math.inf, math.nan)}
    clean = values.plain(messy)
    assert clean == {"a": 1.5, "2": [0, 1, 2], "c": ["inf", "-inf", None]}
    json.dumps(clean, allow_nan=False)
    assert values.number("inf") == math.inf
    assert math.isnan(values.number(None))


def opened(path, **run):
    return cells.Cells(path, {"item": "x", **run})


def test_parts_survive_a_break(tmp_path):
    path = tmp_path / "x.jsonl"
    first = opened(path)
    assert first.get(["a", 1], lambda: {"error": np.array([0.1, 0.2])}) == {"error": [0.1, 0.2]}
    first.get(["a", 2], lambda: 7)

    def never():
        raise AssertionError("computed again")

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


def test_parts_of_other_code_are_not_used(tiny_job, monkeypatch):
    tiny_job("grouse-fig1").cell("a", lambda: 1)
    assert tiny_job("grouse-fig1")._cells.resumed == 1
    monkeypatch.setattr(jobs, "digest_imports", lambda module: "other")
    assert tiny_job("grouse-fig1")._cells.resumed == 0


def test_a_job_writes_whole_results_and_forgets_its_parts(tiny_job, tmp_path):
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
    assert sorted(p.name for p in tmp_path.iterdir()) == ["grouse-fig1.csv", "grouse-fig1.json"]


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
