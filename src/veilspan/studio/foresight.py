"""What a question would cost and teach, foretold in the background and kept.

One process at a time, at a low priority, so that pages and fits go first. What it finds is kept
under a digest of all that it depends on: schema, method, delta, rules of the account, the released
profile that rows are like, and the version. Moving a slider asks for nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from veilspan._files import read_regular
from veilspan._version import __version__
from veilspan.studio.asking import Asking
from veilspan.studio.state import CURVES, Studio

MOST_BYTES = 2**20
#: Of what is kept; another number where the files say other things than they did.
FORMAT = 2
#: Seconds after which a simulation is given up.
PATIENCE = 300.0


class Foresight:
    """Simulations that run or wait, by the digest of their question."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._steps: dict[str, dict[str, Any]] = {}

    def find(self, asking: Asking, state: Any) -> dict[str, Any] | None:
        """What was foretold; None if that is still under way, which is begun if need be."""
        asked = self._describe(asking, state)
        name = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        path = self._studio.folder / CURVES / f"{name}.json"
        if path.exists():
            found: dict[str, Any] = json.loads(read_regular(path, MOST_BYTES))
            return found
        with self._lock:
            if self._steps.get(name, {}).get("failed"):
                return {"grid": [], "costs": None, "odds": {}, "bars": {}, "curve": None,
                        "why": "The simulation could not be run on this machine."}  # fmt: skip
            if name not in self._steps:
                self._steps[name] = {"step": 0, "of": 0, "what": "wait"}
                threading.Thread(target=self._run, args=(name, asked, path), daemon=True).start()
        return None

    def progress(self, asking: Asking, state: Any) -> dict[str, Any]:
        """How far it is; ``done`` once :meth:`find` would find it."""
        if self.find(asking, state) is not None:
            return {"done": True}
        asked = self._describe(asking, state)
        name = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        return dict(self._steps.get(name, {"done": True}))

    def _describe(self, asking: Asking, state: Any) -> dict[str, Any]:
        from veilspan.ledger.filters import rules_to_list
        from veilspan.studio.profiles import describe_profile

        return {
            "version": __version__,
            "format": FORMAT,
            "schema": asking.schema(self._studio).to_toml(),
            "estimator": asking.estimator,
            "params": asking.params,
            "delta": asking.delta,
            "epsilon": 1.0,
            "people": 10_000,
            "profile": describe_profile(self._studio, asking),
            "rules": None if state is None else rules_to_list(state.rules),
        }

    def _run(self, name: str, asked: dict[str, Any], path: Path) -> None:
        good = False
        with self._turn:
            try:
                good = self._simulate(name, asked, path)
            except (OSError, ValueError):
                good = False
        with self._lock:
            if good:
                self._steps.pop(name, None)
            else:
                self._steps[name] = {"failed": True}

    def _simulate(self, name: str, asked: dict[str, Any], path: Path) -> bool:
        command = [sys.executable, "-m", "veilspan.studio.foresee", str(path)]
        alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **alone},
            start_new_session=True,
        )
        with process:
            if hasattr(os, "setpriority"):
                os.setpriority(os.PRIO_PROCESS, process.pid, 10)
            timer = threading.Timer(PATIENCE, process.kill)
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(asked))
                process.stdin.close()
                for line in process.stdout:
                    self._steps[name] = json.loads(line)
            finally:
                timer.cancel()
        return process.returncode == 0 and path.exists()
