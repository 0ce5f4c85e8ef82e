"""A release that is not as it was written is refused, with a sentence that says so."""

import json
import shutil

import pytest

from releases.cases import arrays_file, fitted, rewrite
from veilspan.privacy.errors import PrivacyError
from veilspan.releases import files, load, save, store
from veilspan.releases.documents import arrays_name, digest_of

CHANGED = "was changed after it was written"


@pytest.fixture
def release(tmp_path):
    return save(fitted("PCA, public centre"), tmp_path / "release", key=tmp_path / "key")


FIELDS = {
    "epsilon": lambda d: d["statement"].update(epsilon=0.1),
    "private": lambda d: d["statement"].update(private=False),
    "unit": lambda d: d["statement"].update(unit="one hospital"),
    "parameter": lambda d: d["parameters"].update(row_norm=3.0),
    "attribute": lambda d: d["attributes"].update(noise_edge_=0.0),
    "class": lambda d: d.update({"class": "RobustPCA"}),
    "plan": lambda d: d["plan"].update(n_rows=10**6),
    "version": lambda d: d.update(veilspan="9.9"),
    "file": lambda d: d.update(files={arrays_name("0" * 64): "0" * 64}),
    "files": lambda d: d.update(files=[]),
    "new field": lambda d: d.update(note="trust me"),
    "gone": lambda d: d.pop("plan"),
    "digest": lambda d: d.update(digest="0" * 64),
    "no digest": lambda d: d.pop("digest"),
    "schema 0": lambda d: d.update(schema=0),
    "not a number": lambda d: d["statement"].update(epsilon=float("nan")),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_field_is_seen(release, field):
    rewrite(release, FIELDS[field])
    with pytest.raises(ValueError, match=CHANGED):
        load(release)


@pytest.mark.parametrize("field", ["epsilon", "parameter", "attribute", "file"])
def test_a_careful_forger_is_stopped_by_the_key(release, field, tmp_path):
    rewrite(release, FIELDS[field], mend=True)
    with pytest.raises(ValueError, match="does not fit this key"):
        load(release, key=tmp_path / "key")


@pytest.mark.parametrize("schema", [True, 1.0, "1", None])
def test_a_schema_is_a_whole_number(release, schema):
    rewrite(release, lambda d: d.update(schema=schema), mend=True)
    with pytest.raises(ValueError, match=CHANGED):
        load(release)


@pytest.mark.parametrize("digest", ["", "\ud800", None])
def test_no_digest_fits_what_has_none(release, digest):
    """NaN is never written, so it has no digest: an empty one is no match for it."""
    rewrite(release, lambda d: d.update(note=float("nan"), digest=digest))
    with pytest.raises(ValueError, match=CHANGED):
        load(release)


def test_what_is_too_deep_to_be_written_has_no_digest():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert digest_of({"note": deep}) == ""


def test_the_key(release, tmp_path):
    assert load(release, key=tmp_path / "key").n_components_ == 5
    with pytest.raises(PrivacyError, match=r"the release's key file .*another does not exist"):
        load(release, key=tmp_path / "another")
    (tmp_path / "another").write_text("ab" * 32)
    (tmp_path / "another").chmod(0o600)
    with pytest.raises(ValueError, match="does not fit this key"):
        load(release, key=tmp_path / "another")
    rewrite(release, lambda d: d.pop("seal"))
    with pytest.raises(ValueError, match="carries no seal"):
        load(release, key=tmp_path / "key")


def test_every_byte_of_the_arrays_counts(release):
    path = arrays_file(release)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=CHANGED):
            load(release)
    path.write_bytes(whole[:-20])
    with pytest.raises(ValueError, match=CHANGED):
        load(release)
    path.write_bytes(whole)
    assert load(release).n_features_in_ == 5


def test_every_byte_of_the_document_counts(release):
    """A flipped bit is refused, or means what was there before (white space, an escape)."""
    path = release / "release.json"
    whole = path.read_bytes()
    meaning = json.loads(whole)
    refused = 0
    for place in range(0, len(whole), 3):
        flipped = whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]
        path.write_bytes(flipped)
        try:
            document, _ = files.read_release(release, None)
        except ValueError:
            refused += 1
        else:
            document["seal"] = meaning["seal"]  # only a key can say something about it
            assert document == meaning
    assert refused > 0.85 * len(whole) / 3


def test_swapped_files_are_seen(release, tmp_path):
    other = save(fitted("PCA"), tmp_path / "other")
    shutil.copy(arrays_file(other), arrays_file(release))
    with pytest.raises(ValueError, match=CHANGED):
        load(release)


def test_an_unfinished_or_foreign_folder(release, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no release at"):
        load(tmp_path / "nowhere")
    arrays_file(release).rename(tmp_path / "arrays.npz")
    with pytest.raises(ValueError, match=r"is not whole: it has no arrays-[0-9a-f]{32}\.npz"):
        load(release)
    text = (release / "release.json").read_text()
    for cut in ("", text[:-30], text[: len(text) // 2], "\udcff"):
        (release / "release.json").write_bytes(cut.encode("utf-8", "surrogateescape"))
        with pytest.raises(ValueError, match="is cut off or damaged: it is not JSON"):
            load(release)
    for foreign in ("{}", "[1, 2]", '{"format": "something else"}', "3"):
        (release / "release.json").write_text(foreign)
        with pytest.raises(ValueError, match="is JSON, but not a veilspan release"):
            load(release)
    (release / "release.json").unlink()
    with pytest.raises(ValueError, match=r"holds no release: it has no release\.json"):
        load(release)


def test_a_release_from_the_future(release):
    rewrite(release, lambda d: d.update(schema=3), mend=True)
    with pytest.raises(
        ValueError, match=r"was written by a newer veilspan \(schema 3\); upgrade veilspan\."
    ):
        load(release)


EVIL = [
    {"veilspan": "os.system", "arguments": ["touch hacked"]},
    {"veilspan": "solvers.manifold.rgd.os.system", "arguments": ["touch hacked"]},
    {"veilspan": "geometry.base.Manifold"},
    {"veilspan": "solvers.manifold.rgd.ManifoldProblem"},
    {"veilspan": "cli.io.release_folder.Path", "arguments": ["hacked"]},
    {"veilspan": "solvers.nothing.Here"},
    {"veilspan": "array", "name": "nothing"},
    {"veilspan": 3},
]


@pytest.mark.parametrize("value", EVIL, ids=str)
def test_only_known_classes_are_built(release, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rewrite(release, lambda d: d["parameters"].update(center=value), mend=True)
    with pytest.raises(ValueError, match="cannot be rebuilt"):
        load(release)
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("name", ["SubspaceTracker", "PrivateEstimator", "Path", None, ["PCA"]])
def test_only_known_estimators_are_built(release, name):
    rewrite(release, lambda d: d.update({"class": name}), mend=True)
    with pytest.raises(ValueError, match="cannot be rebuilt"):
        load(release)


REFUSED = {
    "a method": lambda d: d["attributes"].update(transform=3),
    "a parameter": lambda d: d["attributes"].update(epsilon=0.1),
    "a private one": lambda d: d["attributes"].update(_state_=3),
    "its class": lambda d: d["attributes"].update(__class__=3),
    "the statement": lambda d: d["attributes"].update(privacy_=3),
    "the plan": lambda d: d["attributes"].update(plan_=3),
    "a ledger": lambda d: d["parameters"].update(ledger="budget.db"),
    "no ledger": lambda d: d["parameters"].update(ledger=None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_only_what_was_learned_is_set(release, name):
    rewrite(release, REFUSED[name], mend=True)
    with pytest.raises(ValueError, match=r"cannot be rebuilt: it (sets|names) "):
        load(release)


@pytest.mark.parametrize("kind", [MemoryError, RecursionError, OverflowError, IndexError])
def test_whatever_goes_wrong_is_one_sentence(release, kind, monkeypatch):
    def failing(value, arrays):
        raise kind("words of others")

    monkeypatch.setattr(store, "decode", failing)
    with pytest.raises(ValueError, match=rf"cannot be rebuilt: {kind.__name__}\.\Z"):
        load(release)


def test_one_full_stop(release):
    part = {"veilspan": "penalty/box", "lo": 1.0, "hi": 0.0}
    rewrite(release, lambda d: d["parameters"].update(center=part), mend=True)
    with pytest.raises(ValueError, match=r"cannot be rebuilt: a box needs .*[^.]\.\Z"):
        load(release)
