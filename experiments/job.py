"""What an experiment gets, and how it hands in its results.

An experiment is a function ``run(job)``. It asks the job how much to do (``job.scale``), for its
folder of real data (``job.data``, or ``None``), loops with ``job.track`` (a progress bar), computes
what takes long through ``job.cell`` (kept, so that an interrupted run goes on), draws with
``job.picture`` and ends with ``job.finish``.
"""

import csv
import io
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from threadpoolctl import threadpool_limits

from veilspan import __version__
from veilspan._files import write_whole
from veilspan._progress import track_progress

from .cells import Cells
from .cpu import cpu_time
from .imports import digest_imports
from .recheck import Recheck
from .records import SCHEMA, read_record
from .registry import Item
from .values import plain

SCALES = ("tiny", "quick", "full")  # tiny shows nothing: for tests, seconds


@dataclass(frozen=True)
class Claim:
    """What is claimed, what came out, and whether the one supports the other.

    ``holds`` is ``None`` where this run cannot judge it; ``measured`` then says why. ``who`` is the
    "paper" that claims it, or "ours" for a goal that we set ourselves.
    """

    claim: str
    measured: str
    holds: bool | None
    who: str = "paper"


@dataclass(frozen=True)
class Cost:
    """What a printed method promises, and what its noise gives by exact accounting.

    ``true`` is infinite where no epsilon is true (``why`` says so).
    """

    method: str
    claimed: float
    true: float
    delta: float
    neighbors: str
    why: str = ""


@dataclass
class Job:
    """One run of one item."""

    item: Item
    out: Path
    scale: str = "quick"
    data: Path | None = None
    peers: bool = True  # whether environments of other libraries may be used (full runs only)
    fresh: bool = False
    recheck: bool = False  # compute some parts of a finished run again, and compare
    quiet: bool = False
    pictures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale is one of {', '.join(SCALES)}, not {self.scale!r}.")
        self.out.mkdir(parents=True, exist_ok=True)
        self._refuse_to_replace(read_record(self.file("json")))
        self._start = cpu_time()
        folder = None if self.data is None else str(self.data.resolve())
        self._code = code_digest(self.item)
        run = {"item": self.item.name, "scale": self.scale, "data": folder, "peers": self.peers}
        run |= {"code": self._code}
        self._cells: Cells | Recheck
        if self.recheck:
            self._cells = Recheck(self.file("parts.jsonl.gz"), run, digest_imports)
        else:
            path = self.file(f"{self.scale}.cells.jsonl")
            self._cells = Cells(path, run, digest_imports, fresh=self.fresh)
        if self._cells.resumed and not self.recheck:
            self.say(f"going on after {self._cells.resumed} finished parts")

    def _refuse_to_replace(self, known: dict[str, Any] | None) -> None:
        larger = known is not None and SCALES.index(known["scale"]) > SCALES.index(self.scale)
        if known is not None and larger and not self.fresh:
            raise ValueError(
                f"{self.out} holds a {known['scale']} run of {self.item.name}, which a "
                f"{self.scale} one would replace: give another --out, or --fresh."
            )

    @property
    def full(self) -> bool:
        """Whether as much as possible should be done."""
        return self.scale == "full"

    def pick(self, tiny: Any, quick: Any, full: Any) -> Any:
        """One of three settings, by scale."""
        return {"tiny": tiny, "quick": quick, "full": full}[self.scale]

    def file(self, suffix: str) -> Path:
        """Path of a result: the item's name and a suffix."""
        return self.out / f"{self.item.name}.{suffix}"

    def say(self, text: str) -> None:
        """One line of progress, apart from the results."""
        if not self.quiet:
            from rich.console import Console

            Console(stderr=True, highlight=False).print(f"  {text}", markup=False)

    def track(self, items: Iterable[Any], label: str = "") -> Iterator[Any]:
        """Loop with a progress bar on standard error; standard output holds the results."""
        label = f"{self.item.name} {label}".rstrip()
        yield from track_progress(items, label, quiet=self.quiet)

    def cell(self, key: Any, compute: Callable[[], Any], made_by: str | None = None) -> Any:
        """A part of the result, kept once computed; see ``Cells.get`` for what comes back.

        ``made_by`` names a module of the experiments (``"tables.rivals"``) that makes this part on
        its own, data included: the part then stays valid as long as what that module imports is
        unchanged, whatever becomes of the rest of the item. ``compute`` must call nothing else.
        """
        return self._cells.get(key, compute, made_by)

    def picture(self, figure: Any, name: str = "") -> None:
        """Save a figure of matplotlib as PNG and SVG, and close it."""
        from . import style

        stem = f"{self.item.name}{'-' + name if name else ''}"
        self.pictures.append(stem)
        style.save(figure, self.out / stem)

    def finish(
        self,
        verdict: str,
        rows: list[dict[str, Any]],
        claims: list[Claim],
        *,
        costs: Iterable[Cost] = (),
        source: str = "generated rows",
        notes: Iterable[str] = (),
        **facts: Any,
    ) -> dict[str, Any]:
        """Write the CSV and the JSON, print the verdict, forget the finished parts.

        Parameters
        ----------
        verdict : str
            One sentence: what the figure shows.
        rows : list of dict
            The table behind it, for the CSV; all with the same keys.
        claims : list of Claim
            What is claimed, with the answers.
        costs : iterable of Cost
            Where the epsilon of a printed method differs from its promise.
        source : str
            Where the rows came from.
        notes : iterable of str
            What a reader has to know: choices, stand-ins, few repetitions.
        **facts
            Further numbers for the JSON.
        """
        write_csv(self.file("csv"), rows)
        record = plain({
            "schema": SCHEMA, "name": self.item.name, "paper": self.item.paper,
            "label": self.item.label, "title": self.item.title, "scale": self.scale,
            "source": source, "verdict": verdict, "claims": [asdict(c) for c in claims],
            "costs": [asdict(c) for c in costs], "notes": list(notes),
            "pictures": self.pictures, "facts": facts, "command": self.command(),
            "cpu_seconds": self._cpu_seconds(),
            "versions": versions(), "code": self._code,
            **self._dates(),
        })  # fmt: skip
        text = json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        self._cells.keep(self.file("parts.jsonl.gz"))
        write_whole(self.file("json"), lambda stream: stream.write(text.encode()))
        return record

    def _dates(self) -> dict[str, Any]:
        """When the figures were computed, and which parts of them again."""
        today = datetime.now(UTC).date().isoformat()
        if not isinstance(self._cells, Recheck):
            return {"date": today}
        known = read_record(self.file("json")) or {}
        return {"date": known.get("date"), "rechecked": {**self._cells.facts(), "date": today}}

    def _cpu_seconds(self) -> float:
        """CPU seconds of all parts and of what was done between them; of a recheck, as before."""
        known = read_record(self.file("json")) if self.recheck else None
        spent = self._cells.earlier + cpu_time() - self._start
        return known["cpu_seconds"] if known else round(spent, 1)

    def command(self) -> str:
        """The command that repeats this run."""
        words = ["veilspan reproduce", self.item.name]
        words += [f"--{self.scale}"]
        words += ["--data DIR"] if self.data is not None and self.item.uses else []
        words += ["--no-peers"] if self.full and self.item.peers and not self.peers else []
        return " ".join(words)


def run_item(item: Item, **options: Any) -> dict[str, Any]:
    """Run one item and return its record.

    One BLAS thread, so that CPU times mean the same everywhere.
    """
    module = _module_of(item)
    job = Job(item, **options)
    with threadpool_limits(1):
        getattr(module, item.call)(job)
    record = read_record(job.file("json"))
    if record is None:
        raise RuntimeError(f"{item.name} ended without a result: this is a bug.")
    return record


def code_digest(item: Item) -> str:
    """Digest of the code that can change the figures of an item."""
    return digest_imports(f"{__package__}.{item.module}")


def _module_of(item: Item) -> ModuleType:
    try:
        return import_module(f"{__package__}.{item.module}")
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ImportError(
            'the experiments draw with matplotlib: pip install "veilspan[plots]" brings it.'
        ) from error


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a table, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, lambda stream: stream.write(text.getvalue().encode()))


def versions() -> dict[str, str]:
    """What the figures were made with."""
    found = {"veilspan": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "scikit-learn", "dp-accounting", "randomgen"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a source tree
            continue
    return found
