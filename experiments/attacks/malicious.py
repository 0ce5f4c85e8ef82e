"""Releases that a stranger made: code in arrays, bombs, links, pipes, impossible promises."""

import io
import json
import os
import pickle
import shutil
import zipfile

import numpy as np

from veilspan import PCA


def make_files(folder, count):
    """Write the first ``count`` of them into a folder; how many there are."""
    original = folder.parent / f"{folder.name}-original"
    PCA(2, epsilon=1.0).fit(np.random.default_rng(0).standard_normal((50, 4))).save(original)
    made = list(FILES.items())[:count]
    for number, (name, spoil) in enumerate(made):
        place = folder / f"{number:02d} {name}"
        shutil.copytree(original, place)
        spoil(place, folder / "ran")
    shutil.rmtree(original)
    return len(made)


class Evil:
    """Unpickled, it leaves a file behind."""

    def __init__(self, proof):
        self.proof = str(proof)

    def __reduce__(self):
        return open, (self.proof, "w")


def _arrays(place):
    return next(path for path in sorted(place.iterdir()) if path.suffix == ".npz")


def _document(place):
    return next(path for path in sorted(place.iterdir()) if path.suffix == ".json")


def _edit(change):
    def spoil(place, proof):
        path = _document(place)
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    return spoil


def _pickled_member(place, proof):
    stream = io.BytesIO()
    evil = np.array([Evil(proof)], dtype=object)
    np.lib.format.write_array(stream, evil, allow_pickle=True)
    with zipfile.ZipFile(_arrays(place), "w") as archive:
        archive.writestr("components_.npy", stream.getvalue())


def _bare_pickle(place, proof):
    _arrays(place).write_bytes(pickle.dumps(Evil(proof)))


def _pickle_as_document(place, proof):
    _document(place).write_bytes(pickle.dumps(Evil(proof)))


def _bomb(place, proof):
    with zipfile.ZipFile(_arrays(place), "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (2**30,)}
        np.lib.format.write_array_header_1_0(header, shape)
        archive.writestr("components_.npy", header.getvalue() + bytes(2 * 10**8))


def _huge_claim(place, proof):
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(_arrays(place), "w") as archive:
        archive.writestr("components_.npy", header.getvalue())


def _escaping_member(place, proof):
    with zipfile.ZipFile(_arrays(place), "a") as archive:
        archive.writestr("../../escaped.npy", b"x")


def _replaced(make):
    def spoil(place, proof):
        path = _arrays(place)
        path.unlink()
        make(path)

    return spoil


def _deep(place, proof):
    _document(place).write_text("[" * 200_000)


def _long_number(place, proof):
    _document(place).write_text('{"schema": ' + "9" * 100_000 + "}")


def _not_numbers(place, proof):
    path = _arrays(place)
    with np.load(path) as archive:
        held = {name: np.full_like(archive[name], np.nan) for name in archive.files}
    np.savez(path, **held)


#: name: what is done to a copy of an honest release.
FILES = {
    "pickled object in an array": _pickled_member,
    "pickle in place of arrays": _bare_pickle,
    "pickle in place of the document": _pickle_as_document,
    "zip bomb": _bomb,
    "array of 2^50 numbers": _huge_claim,
    "member that leaves the folder": _escaping_member,
    "pipe in place of arrays": _replaced(os.mkfifo),
    "endless device in place of arrays": _replaced(lambda path: path.symlink_to("/dev/zero")),
    "link to a system file": _replaced(lambda path: path.symlink_to("/etc/passwd")),
    "link to itself": _replaced(lambda path: path.symlink_to(path.name)),
    "folder in place of arrays": _replaced(os.mkdir),
    "document nested 200,000 deep": _deep,
    "number of 100,000 digits": _long_number,
    "components that are not numbers": _not_numbers,
    "class of another library": _edit(lambda d: d.update({"class": "os.system"})),
    "class that is a path": _edit(lambda d: d.update({"class": "../../PCA"})),
    "attribute that is a method": _edit(lambda d: d["attributes"].update(__class__="x", fit="x")),
    "epsilon of -1": _edit(lambda d: d["statement"].update(epsilon=-1)),
    "epsilon of 0": _edit(lambda d: d["statement"].update(epsilon=0.0)),
    "another epsilon": _edit(lambda d: d["statement"].update(epsilon=0.01)),
    "files outside": _edit(lambda d: d.update(files={"../../../etc/passwd": "0" * 64})),
    "no digest": _edit(lambda d: d.pop("digest", None)),
    "nothing at all": lambda place, proof: _document(place).write_text(""),
}
