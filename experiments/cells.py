"""Finished parts of a long run, kept so that an interrupted one goes on where it stopped."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veilspan._files import write_whole

from .cpu import cpu_time
from .values import plain


class Cells:
    """A file with one line per finished part, appended and synced as each is done.

    The first line names the run: its item, scale, rows and a digest of the code. A file of another
    run, or of other code, is not gone on with: figures of two versions must never be mixed. A last
    line that was cut off by a crash is dropped.
    """

    def __init__(self, path: Path, run: dict[str, Any], *, fresh: bool = False) -> None:
        self.path = path
        self._run = plain(run)
        self._done: dict[str, Any] = {}
        if fresh:
            self.clear()
        self._read()

    @property
    def resumed(self) -> int:
        """Number of parts that an earlier run had finished."""
        return self._resumed

    def get(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Value of a part: kept from before, or computed, kept and returned.

        The value comes back as JSON has it (lists for arrays and tuples, text keys), also on the
        first run, so that a resumed run cannot differ from one that was never interrupted.
        """
        name = json.dumps(plain(key))
        if name not in self._done:
            start = cpu_time()
            value = plain(compute())
            self._append({"key": name, "value": value, "cpu": round(cpu_time() - start, 3)})
        return self._done[name]

    def clear(self) -> None:
        """Forget all parts, and remove the file that kept them."""
        self.path.unlink(missing_ok=True)
        self._done = {}

    def _read(self) -> None:
        lines = self._lines()
        if not lines or lines[0] != self._run:
            self.clear()
            lines = []
        self._done = {line["key"]: line["value"] for line in lines[1:]}
        self._resumed = len(self._done)
        #: CPU seconds that earlier runs spent on the parts that are kept
        self.earlier = sum(line.get("cpu", 0.0) for line in lines[1:])

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
            text = "".join(json.dumps(line) + "\n" for line in found)
            write_whole(self.path, lambda stream: stream.write(text.encode()))
        return found

    def _append(self, line: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as file:
            if new:
                file.write(json.dumps(self._run) + "\n")
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # Read back, so that a first run sees the same value as a resumed one.
        self._done[line["key"]] = json.loads(json.dumps(line["value"]))
