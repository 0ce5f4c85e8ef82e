"""A tiny run of every attack; and each sees a broken twin put in the library's place."""

import json
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from experiments.attacks import __main__ as main
from experiments.attacks import flips, floats, malicious, pages, processes, rows, table
from veilspan import PCA

ROOT = Path(__file__).parents[2]


def held(outcome):
    assert outcome.tried > 0
    assert outcome.broken == []
    assert outcome.held == outcome.tried


# ---------------------------------------------------------------- tiny runs


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        ("races", 1),
        ("kills during a charge", 3),
        ("kills during a save", 3),
        ("bit flips in a ledger", 6),
        ("bit flips in a release", 20),
        ("malicious files", 99),
        ("adversarial rows", 6),
        ("text in pages", 99),
        ("low bits", 3),
        ("rows at the edges of float64", 12),
        ("far points", 1),
    ],
)
def test_held(attack, count):
    (found,) = (known for known in table.ATTACKS if known.name == attack)
    held(found.run(count, 0))


def test_every_attack_is_among_them():
    (mark,) = test_held.pytestmark
    assert [name for name, _ in mark.args[1]] == [attack.name for attack in table.ATTACKS]


# ---------------------------------------------------------------- broken twins


def twin(tmp_path, text):
    path = tmp_path / "twin.py"
    path.write_text(text)
    return path


GENEROUS = """
from types import SimpleNamespace
from veilspan.ledger import Dataset
from veilspan.privacy.errors import BudgetExceededError

genuine, granted = Dataset.charge, []

def charge(self, request):
    try:
        return genuine(self, request)
    except BudgetExceededError:
        if granted:
            raise
        granted.append(1)
        return SimpleNamespace(entry=-1)  # one more than there is room for

Dataset.charge = charge
"""
FORGETFUL = """
from itertools import count
from types import SimpleNamespace
from veilspan.ledger import Dataset

entries = count(10**6)
Dataset.charge = lambda self, request: SimpleNamespace(entry=next(entries))  # never on the disk
"""
HASTY = """
import shutil, time
from veilspan import PCA

genuine = PCA.save

def save(self, folder, **options):
    shutil.rmtree(folder, ignore_errors=True)  # the old one goes first
    time.sleep(0.05)
    return genuine(self, folder, **options)

PCA.save = save
"""
TRUSTING = """
import pickle, types
import numpy as np, veilspan

def load(place):
    for path in sorted(place.iterdir()):
        try:
            with np.load(path, allow_pickle=True) as archive:
                [archive[name] for name in archive.files]
        except AttributeError:
            pass
    raise ValueError("whatever it was")

veilspan.load = load
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "text", "count", "words"),
    [
        ("races", GENEROUS, 1, "were granted"),
        ("killed_charges", FORGETFUL, 2, "acknowledged"),
        ("killed_saves", HASTY, 3, "after a kill"),
        ("malicious_files", TRUSTING, 1, "code of the file was run"),
    ],
)
def test_processes_see_a_broken_twin(attack, text, count, words, tmp_path):
    found = getattr(processes, attack)(count, 0, broken=twin(tmp_path, text))
    assert found.held < found.tried
    assert any(words in problem for problem in found.broken)


def test_workers_that_fail_are_not_held(tmp_path):
    found = processes.races(1, 0, broken=twin(tmp_path, "raise SystemExit(9)"))
    assert found.held < found.tried


def unchecked_bytes(place):
    return {path.name: path.read_bytes().hex() for path in place.iterdir()}


@pytest.mark.parametrize("attack", ["ledger_flips", "release_flips"])
def test_flips_see_a_reader_that_checks_nothing(attack):
    found = getattr(flips, attack)(3, 0, state=unchecked_bytes)
    assert found.held == 0
    assert "went unseen" in found.broken[0]


def test_payloads_see_a_page_that_does_not_escape():
    found = pages.payloads(99, 0, make=lambda text: f"<html><h1 title='{text}'>{text}</h1></html>")
    assert found.held < found.tried / 2
    assert any("script" in text for text in found.broken)


class LeakyPCA(PCA):
    """Publishes the mean of its rows."""

    def fit(self, X, y=None):
        super().fit(X)
        self.mean_of_rows_ = float(np.mean(X))
        return self


def test_replays_see_a_leak():
    found = rows.replays(3, 0, made=lambda relation: [LeakyPCA(1, neighbors=relation)])
    assert found.held < found.tried
    assert "mean_of_rows_" in found.broken[0]


def test_low_bits_see_plain_floats():
    def naive(values, seed):
        noise = np.random.default_rng(seed).standard_normal(floats.ANSWERS)
        return values.sum() + noise  # one large sum swallows the low bits of the noise

    found = floats.low_bits(4, 0, release=lambda t, seed: naive(1e6 * t, seed))
    assert found.held < found.tried


@dataclass
class Loud:
    """Divides by the length of each row."""

    def fit(self, x):
        return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_edges_see_a_map_that_complains():
    found = floats.edges(60, 0, makers={"loud": Loud})
    assert found.held < found.tried
    assert any("FloatingPointError" in text for text in found.broken)


def test_far_points_see_a_bound_that_is_declared_too_small(monkeypatch):
    from veilspan.queries.manifold.tangent_gradient import TangentGradient

    monkeypatch.setattr(TangentGradient, "sensitivity", lambda self, neighbors: self.bound / 2)
    found = floats.far_points(1, 0, radius=2.0)
    assert "declared sensitivity" in found.broken[0]


# ---------------------------------------------------------------- the record and its page


def test_the_page_shows_the_record():
    record = json.loads((ROOT / "experiments" / "attacks" / "record.json").read_text())
    page = (ROOT / "SECURITY.md").read_text()
    assert main.put_into(page, record) == page
    assert [a["name"] for a in record["attacks"]] == [a.name for a in table.ATTACKS]


def test_the_command(capsys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{main.BEGIN}\nold\n{main.END}\nafter\n")
    code = main.main(
        ["--only", "low bits", "--json", str(tmp_path / "r.json"), "--page", str(page)]
    )
    assert code == 0
    assert "low bits    100   100" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["attacks"][0]["held"] == 100
    assert "old" not in page.read_text()
    assert page.read_text().startswith("before")


def test_what_gave_way_is_printed():
    record = {
        "attacks": [{"name": "a", "aim": "b", "tried": 2, "held": 1, "note": "", "broken": ["x"]}]
    }
    assert "GAVE WAY, a: x" in table.text_table(record)


def test_the_evil_object_is_evil(tmp_path):
    evil = malicious.Evil(tmp_path / "ran")
    pickle.loads(pickle.dumps(evil)).close()
    assert (tmp_path / "ran").exists()
