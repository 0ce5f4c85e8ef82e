"""Which code a record's digest stands for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import imports, registry
from experiments.job import code_digest

ROOT = Path(__file__).parents[2]
ITEMS = {item.name: item for item in registry.ITEMS}
LOADED = """
import sys
from pathlib import Path
from experiments import job, registry
item = next(i for i in registry.ITEMS if i.name == sys.argv[1])
job.run_item(item, out=Path(sys.argv[2]), scale="tiny", quiet=True)
print(*(m for m in sys.modules if m.split(".")[0] in ("veilspan", "experiments")))
"""


def found(name, **options):
    return set(imports.find_imports(f"experiments.{ITEMS[name].module}", **options))


@pytest.mark.parametrize(
    "name",
    [
        "grouse-lemmas",
        "erm-table3",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("robust-pca-fig4", "streams")),
    ],
)
def test_what_runs_is_found(name, tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOADED, name, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(run.stdout.split("\n")[-2].split())
    assert len(loaded) > 10
    assert loaded <= found(name, everything=True)
    left_out = loaded - found(name)
    reached = {m for p in imports.HANDED_TO for m in imports.find_imports(p, everything=True)}
    assert left_out <= imports.ASIDE | reached


def test_a_family_does_not_hold_another():
    assert not [m for m in found("grouse-fig1") if "curator" in m or "linear" in m]
    assert "veilspan.solvers.subspace.geodesic_gradient" in found("robust-pca-fig1")
    assert "veilspan.estimators.completion.matrix_completion" not in found("robust-pca-fig1")
    assert "veilspan.solvers.linear.newton" in found("erm-table1")
    assert "veilspan.solvers.linear.newton" not in found("streams")
    assert "experiments.tables.ebm" in found("tables")  # started by its file name


def test_everybody_has_the_accountant():
    for name in ("robust-pca-fig2", "erm-table1", "tables", "recommend-fig2", "streams"):
        assert {"veilspan.privacy.accounting", "veilspan.privacy.noise"} <= found(name)


def digest_of(tmp_path, monkeypatch, edits):
    """Digest of a package of two modules and a settings file, with some of them edited."""
    files = {
        "__init__.py": '"""A package."""\n_HOME = {"Late": "late"}\n',
        "run.py": '"""Doc."""\nfrom fake import Late\n\n\ndef run():  # why\n    return Late\n',
        "run_tuned.json": "{}",
        "late.py": "class Late:\n    pass\n",
        "other.py": "x = 1\n",
    }
    for name, text in {**files, **edits}.items():
        (tmp_path / "fake").mkdir(exist_ok=True)
        (tmp_path / "fake" / name).write_text(text)
    monkeypatch.setattr(imports, "ROOTS", {"fake": tmp_path / "fake"})
    for kept in (
        imports.find_imports,
        imports._asks_for,
        imports._modules,
        imports._named_in,
        imports._late_names,
        imports._digest_modules,
    ):
        kept.cache_clear()
    try:
        return imports.digest_imports("fake.run")
    finally:
        monkeypatch.undo()
        for kept in (imports.find_imports, imports._modules, imports._named_in):
            kept.cache_clear()
        imports._late_names.cache_clear()
        imports._digest_modules.cache_clear()


PROSE = '"""Other words,\nand more."""\nfrom fake import Late\n\ndef run():\n    return Late\n'


def test_words_and_other_modules_leave_a_digest(tmp_path, monkeypatch):
    before = digest_of(tmp_path, monkeypatch, {})
    for edit in ({"run.py": PROSE}, {"other.py": "x = 2\n"}):
        assert digest_of(tmp_path, monkeypatch, edit) == before


@pytest.mark.parametrize(
    "edit",
    [
        {"late.py": "class Late:\n    x = 2\n"},
        {"run_tuned.json": '{"a": 1}'},
        {"run.py": "from fake import Late\ndef run():\n    return Late()\n"},
        {"__init__.py": '_HOME = {"Late": "other"}\n'},
    ],
)
def test_code_and_settings_change_it(tmp_path, monkeypatch, edit):
    assert digest_of(tmp_path, monkeypatch, edit) != digest_of(tmp_path, monkeypatch, {})


def test_digests_of_items_that_share_a_module_agree():
    assert code_digest(ITEMS["robust-pca-fig7"]) == code_digest(ITEMS["robust-pca-fig2"])
    assert code_digest(ITEMS["robust-pca-fig7"]) != code_digest(ITEMS["robust-pca-fig1"])
