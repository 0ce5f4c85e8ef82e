"""Questions to other libraries, each asked in an environment of its own.

``python _peers.py QUESTION SETTINGS`` runs inside such an environment and prints JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # where the experiments lie
from experiments.environments import PeerUnavailable, peer_environ, peer_python  # noqa: F401

# Imports stay inside the functions, because each environment holds one library.


def diffprivlib_pca(
    file: str, rank: int, epsilon: float, limit: int, give_up: int
) -> list[dict[str, Any] | None]:
    """Components and CPU seconds of each table's fit; ``None`` where the limit was reached.

    If none of the first ``give_up`` fits finishes, the others are not tried.
    """
    import numpy as np
    from diffprivlib.models import PCA

    def fit(rows: Any, seed: int) -> dict[str, Any]:
        model = PCA(rank, epsilon=epsilon, data_norm=1.0, centered=True, random_state=seed)
        start = time.process_time()
        model.fit(rows.copy())
        return {"cpu": time.process_time() - start, "components": model.components_.tolist()}

    found: list[dict[str, Any] | None] = []
    with np.load(file) as tables:
        for seed, name in enumerate(tables.files):
            rows = tables[name]
            found.append(_within(limit, lambda rows=rows, seed=seed: fit(rows, seed)))
            print(f"  fit {seed + 1}: {_outcome(found[-1], limit)}", file=sys.stderr, flush=True)
            if len(found) == give_up and not any(found):
                break
    return found


def diffprivlib_sampler(draws: int) -> dict[str, float]:
    """Mean of x'Ax over draws of its eigenvector sampler on a circle, and what it should be."""
    import numpy as np
    from diffprivlib.mechanisms import Bingham

    matrix = np.diag([4.0, 0.0])
    sampler = Bingham(epsilon=1.0, random_state=0)
    # Its target: exp(-x'Ax) with A = epsilon (largest eigenvalue I - matrix) / 4.
    a = (4.0 * np.eye(2) - matrix) / 4
    drawn = np.array([v @ a @ v for v in (sampler.randomise(matrix) for _ in range(draws))])
    angles = np.linspace(0, 2 * np.pi, 10_000, endpoint=False)
    values = np.einsum("ij,ik,jk->k", a, *[np.stack([np.cos(angles), np.sin(angles)])] * 2)
    claimed = float(np.average(values, weights=np.exp(-values)))
    spread = float(drawn.std(ddof=1) / np.sqrt(draws))
    return {"claimed": claimed, "drawn": float(drawn.mean()), "error": spread, "draws": draws}


def _within(limit: int, work: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    """Result of ``work`` in a forked child that may use ``limit`` CPU seconds; else ``None``."""
    import multiprocessing
    import resource

    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def child() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        sending.send(work())

    process = context.Process(target=child)
    process.start()
    sending.close()
    try:
        # On a busy machine CPU time passes slowly; the clock only stops what sleeps.
        return receiving.recv() if receiving.poll(5 * limit) else None
    except EOFError:  # the child was stopped
        return None
    finally:
        process.kill()
        process.join()


def _outcome(result: dict[str, Any] | None, limit: int) -> str:
    return f"no answer in {limit} s" if result is None else f"{result['cpu']:.2f} s"


if __name__ == "__main__":
    questions = {
        "diffprivlib-pca": diffprivlib_pca,
        "diffprivlib-sampler": diffprivlib_sampler,
    }
    print(json.dumps(questions[sys.argv[1]](**json.loads(sys.argv[2]))))
