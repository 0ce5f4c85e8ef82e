"""Follow a subspace that turns, loses entries, meets a burst of wild rows, jumps, and restarts."""

from pathlib import Path

import numpy as np

from veilspan import SubspaceTracker
from veilspan.metrics import projection_distance

rng = np.random.default_rng(0)  # the simulated sensors
n, d = 60, 4
frame = np.linalg.qr(rng.standard_normal((n, 2 * d)))[0].T


def turned(angle):
    """The first d directions of the frame, turned towards the others."""
    return np.cos(angle) * frame[:d] + np.sin(angle) * frame[d:]


def readings(subspace, count):
    rows = rng.standard_normal((count, d)) @ subspace + 0.03 * rng.standard_normal((count, n))
    rows[rng.random(rows.shape) < 0.2] = np.nan  # a fifth of the readings is lost
    return rows


still = SubspaceTracker(d, random_state=0)
alert = SubspaceTracker(d, forgetting=0.1, robust="l1", random_state=0)


def report(moment, subspace):
    errors = [projection_distance(x.components_, subspace) for x in (still, alert)]
    print(f"{moment:28s} default {errors[0]:.3f}   alert {errors[1]:.3f}")
    return errors


for hour in range(40):
    now = turned(hour / 100)
    for tracker in (still, alert):
        tracker.partial_fit(readings(now, 50))
drifted = report("after a slow drift", now)

burst = 20 * rng.standard_normal((15, n))
for tracker in (still, alert):
    tracker.partial_fit(burst)
struck = report("after a burst of wild rows", now)

alert.save("tracker.npz")  # the machine restarts ...
alert = SubspaceTracker.load("tracker.npz")
Path("tracker.npz").unlink()

now = turned(1.5)
for _ in range(10):
    for tracker in (still, alert):
        tracker.partial_fit(readings(now, 50))
jumped = report("500 rows after a jump", now)

gaps = readings(now, 200)
print(f"residual ratio of new rows: {np.median(alert.score_samples(gaps)):.3f}")
print(f"rows refused: {alert.n_samples_skipped_} of {alert.n_samples_seen_}")
assert drifted[1] < drifted[0]
assert struck[1] < 0.1 < struck[0]
assert max(jumped) < 0.1
