"""Parts of a finished run, kept beside its record, so that a few can be computed again.

A full record takes minutes to hours. Two people want to check one without paying for that: a reader
who doubts it, and whoever changed code that it imports without meaning to change a figure. For both
``veilspan reproduce NAME --full --recheck`` computes some of the kept parts again, chosen at random
by the digest of today's code, so that nobody picks them: among those whose own code has changed if
there are any, else among all. If each comes out as it was, to the last digit, the figures are drawn
anew from all parts and the record names today's code and how many parts were computed again. If one
differs, nothing is written: the record has to be made again.
"""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veilspan._files import write_whole

from .imports import digest_imports
from .values import plain

#: Parts that are computed again, at least: a change that concerns a tenth of all parts then stays
#: unseen in .9^30 = 4 % of all cases.
LEAST = 30
#: And this share of them.
SHARE = 0.05
#: Names of measured times, which differ from run to run and are not compared.
TIMES = ("seconds", "cpu", "time", "ms", "microseconds")


def keep_parts(path: Path, run: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    """Write the parts of a finished run; the folder of its data is nobody's business."""
    head = {name: value for name, value in run.items() if name != "data"}
    text = "".join(json.dumps(line) + "\n" for line in [head, *lines])
    # Without a name and a time inside, equal parts are equal files.
    packed = gzip.compress(text.encode(), mtime=0)
    write_whole(path, lambda stream: stream.write(packed))


def name_code(
    made_by: str | None, run: dict[str, Any], digest: Callable[[str], str]
) -> dict[str, str]:
    """What a part says of the code that made it: the item's, or that of a module of its own."""
    if made_by is None:
        return {"code": run["code"]}
    return {"made_by": made_by, "code": digest(f"{__package__}.{made_by}")}


class Recheck:
    """Stands in for `Cells`: parts come from the file, and some are computed and compared."""

    def __init__(
        self, path: Path, run: dict[str, Any], digest: Callable[[str], str] = digest_imports
    ) -> None:
        head, lines = _read_parts(path)
        if any(head.get(name) != run[name] for name in ("item", "scale", "peers")):
            raise ValueError(f"{path} holds the parts of another run.")
        self.made_by = head["code"]
        self.resumed = len(lines)
        self.earlier = sum(line.get("cpu", 0.0) for line in lines)
        self._parts = {line["key"]: line["value"] for line in lines}
        self._makers = {line["key"]: line.get("made_by") for line in lines}
        self._asked: set[str] = set()
        self._path, self._run = path, run
        self._today = [line | name_code(line.get("made_by"), run, digest) for line in lines]
        changed = [
            new["key"]
            for old, new in zip(lines, self._today)
            if old.get("code", head["code"]) != new["code"]
        ]
        names = sorted(changed or self._parts)
        wanted = min(len(names), max(LEAST, round(SHARE * len(names))))
        self._again = set(random.Random(run["code"]).sample(names, wanted))

    def get(self, key: Any, compute: Callable[[], Any], made_by: str | None = None) -> Any:
        """Value of a part as it was kept, computed again and compared if it was chosen."""
        name = json.dumps(plain(key))
        if self._makers.get(name, "nobody") != made_by:
            raise ValueError(f"the kept run has no part {name} of the same maker: run it in full.")
        if name in self._again and name not in self._asked:
            value = json.loads(json.dumps(plain(compute())))
            if not same_but_for_times(value, self._parts[name]):
                raise ValueError(f"part {name} comes out differently today: run it in full.")
        self._asked.add(name)
        return self._parts[name]

    def keep(self, path: Path) -> None:
        """Write the parts under the name of today's code, once all of them were asked for."""
        left = set(self._parts) - self._asked
        if left:
            raise ValueError(f"{len(left)} kept parts are not asked for today: run it in full.")
        keep_parts(path, self._run, self._today)

    def facts(self) -> dict[str, Any]:
        """What a record says of the comparison."""
        return {"parts": len(self._again), "of": len(self._parts), "made_by": self.made_by}


def same_but_for_times(one: Any, two: Any) -> bool:
    """Tell whether two plain values agree to the last digit, measured times left out."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(
            _is_time(name) or same_but_for_times(one[name], two[name]) for name in one
        )
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same_but_for_times, one, two))
    return bool(one == two)


def _is_time(name: str) -> bool:
    return name.lower().split("_")[-1] in TIMES


def _read_parts(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        text = gzip.decompress(path.read_bytes()).decode()
        head, *lines = [json.loads(line) for line in text.splitlines()]
    except FileNotFoundError:
        raise ValueError(
            f"{path} is not there: only a run whose parts were kept can be checked by --recheck."
        ) from None
    except (OSError, EOFError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: run it in full.") from error
    return head, lines
