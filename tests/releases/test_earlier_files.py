"""Files that earlier versions wrote stay readable: samples of each, kept as they were."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import veilspan
from releases.cases import CASES, kept_answers
from veilspan._earlier_names import EARLIER_NAMES
from veilspan.catalogue import PARTS
from veilspan.releases.names import part_class

SAMPLES = Path(__file__).parent / "samples"
#: version: folder of a sample -> the case that it was made from
RELEASES = {
    (version.name, folder): case
    for version in sorted(SAMPLES.iterdir())
    for folder, case in json.loads((version / "cases.json").read_text()).items()
}


@pytest.mark.parametrize(("version", "folder"), RELEASES)
def test_a_release_loads_and_answers_as_it_did(version, folder):
    case = RELEASES[version, folder]
    place = SAMPLES / version / folder
    model = veilspan.load(place)
    assert type(model).__name__ == CASES[case][0]
    assert model.privacy_.verify()
    now = kept_answers(model, case)
    with np.load(place / "expected.npz", allow_pickle=False) as expected:
        assert set(expected.files) == set(now)
        for name in expected.files:
            if expected[name].dtype.kind == "f":
                wanted = expected[name]
                if name == "predict" and getattr(model, "target_range", None) is not None:
                    wanted = np.clip(wanted, *model.target_range)  # they keep to it since
                np.testing.assert_allclose(now[name], wanted, rtol=1e-8, atol=1e-8)
            else:
                assert (now[name] == expected[name]).all()


@pytest.mark.parametrize(("version", "folder"), RELEASES)
def test_it_can_be_saved_again_and_names_no_module(version, folder, tmp_path):
    model = veilspan.load(SAMPLES / version / folder)
    text = (veilspan.releases.save(model, tmp_path / "again") / "release.json").read_text()
    assert not any(path in text for path in EARLIER_NAMES)
    assert type(veilspan.load(tmp_path / "again")) is type(model)


@pytest.mark.parametrize("version", sorted({version for version, _ in RELEASES}))
@pytest.mark.parametrize("file", ["tracker.npz", "private-tracker.npz", "local-predictor.npz"])
def test_a_state_loads(version, file, tmp_path):
    kept = shutil.copy(SAMPLES / version / file, tmp_path)
    assert veilspan.load(kept) is not None


@pytest.mark.parametrize("path", EARLIER_NAMES)
def test_every_earlier_name_leads_to_a_class(path):
    assert part_class(path) is part_class(EARLIER_NAMES[path])
    assert part_class(path).__name__ == path.rpartition(".")[2]


def test_ids_are_unique_and_say_nothing_of_modules():
    assert len(set(PARTS.values())) == len(PARTS)
    assert not any("." in name or "_" in name for name in PARTS)
    for name, home in PARTS.items():
        found = part_class(name)
        assert f"{found.__module__}.{found.__name__}" == f"veilspan.{home}"
