"""Finished parts of a long run, kept so that an interrupted one goes on where it stopped."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veilspan._files import write_whole

from .cpu import cpu_time
from .imports import digest_imports
from .recheck import keep_parts, name_code
from .values import plain


class Cells:
    """A file with one line per finished part, appended and synced as each is done.

    The first line names the run: its item, scale, rows and a digest of the item's code. Every part
    names the digest of the code that made it: the item's, or that of a module which makes this part
    alone (``made_by``, a rival say). A file of another run is not gone on with, and a part only if
    its own code is today's: figures of two versions must never be mixed. A last line that was cut
    off by a crash is dropped.

    Parameters
    ----------
    path : Path
        The file.
    run : dict
        What tells this run from others; ``"code"`` is the digest of the item.
    digest : callable
        Digest of a module that parts name, as it is today.
    fresh : bool
        Whether to forget what is there.
    """

    def __init__(
        self,
        path: Path,
        run: dict[str, Any],
        digest: Callable[[str], str] = digest_imports,
        *,
        fresh: bool = False,
    ) -> None:
        self.path = path
        self._run = plain(run)
        self._digest = digest
        self._done: dict[str, dict[str, Any]] = {}
        if fresh:
            self.clear()
        self._read()

    @property
    def resumed(self) -> int:
        """Number of parts that an earlier run had finished."""
        return self._resumed

    def get(self, key: Any, compute: Callable[[], Any], made_by: str | None = None) -> Any:
        """Value of a part: kept from before, or computed, kept and returned.

        The value comes back as JSON has it (lists for arrays and tuples, text keys), also on the
        first run, so that a resumed run cannot differ from one that was never interrupted.
        """
        name = json.dumps(plain(key))
        if name not in self._done or self._done[name].get("made_by") != made_by:
            start = cpu_time()
            value = plain(compute())
            line = {"key": name, "value": value, "cpu": round(cpu_time() - start, 3)}
            self._append(line | name_code(made_by, self._run, self._digest))
        self._asked.add(name)
        return self._done[name]["value"]

    def keep(self, path: Path) -> None:
        """Put the parts of a finished run beside its record, and forget them here."""
        parts = [line for name, line in self._done.items() if name in self._asked]
        keep_parts(path, self._run, parts)
        self.clear()

    def clear(self) -> None:
        """Forget all parts, and remove the file that kept them."""
        self.path.unlink(missing_ok=True)
        self._done = {}

    def _read(self) -> None:
        lines = self._lines()
        same = bool(lines) and lines[0] | {"code": None} == self._run | {"code": None}
        parts = [line for line in lines[1:] if same and self._is_of_today(line)]
        if lines and [self._run, *parts] != lines:
            self._write([self._run, *parts])
        self._done = {line["key"]: line for line in parts}
        self._asked: set[str] = set()
        self._resumed = len(self._done)
        #: CPU seconds that earlier runs spent on the parts that are kept
        self.earlier = sum(line.get("cpu", 0.0) for line in self._done.values())

    def _is_of_today(self, line: dict[str, Any]) -> bool:
        try:
            today = name_code(line.get("made_by"), self._run, self._digest)
        except KeyError:  # a module that is no more
            return False
        return line.get("code") == today["code"]

    def _lines(self) -> list[Any]:
        found: list[Any] = []
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return found
        whole = text.endswith("\n") or not text
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:  # cut off in the middle: what follows cannot be trusted either
                whole = False
                break
        if not whole:  # also a line without its end, which the next one would be glued to
            self._write(found)
        return found

    def _write(self, lines: list[Any]) -> None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write_whole(self.path, lambda stream: stream.write(text.encode()))

    def _append(self, line: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            if not file.tell():
                file.write(json.dumps(self._run) + "\n")
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # Read back, so that a first run sees the same value as a resumed one.
        self._done[line["key"]] = json.loads(json.dumps(line))
