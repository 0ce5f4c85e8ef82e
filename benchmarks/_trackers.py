"""Methods that learn a subspace from a stream, behind one face, for ``tracking.py``."""

import numpy as np

from veilspan.estimators.stream.subspace_tracker import SubspaceTracker
from veilspan.nonprivate.grouse import NoisyStep
from veilspan.nonprivate.grouse.stream import Stream, StreamOptions


class Tracker:
    """A method with its settings. ``start``, then ``learn`` blocks; ``basis`` at any time."""

    #: Words for a table.
    setting = ""
    #: The part of them that its speed depends on; ``None`` is all.
    timing = None
    #: Rows between two looks at the error while they are counted.
    stride = 50

    def __init__(self, d):
        self.d = d

    def start(self, n, rng):
        """Forget everything."""
        raise NotImplementedError

    def learn(self, rows):
        raise NotImplementedError

    def basis(self):
        """Orthonormal rows, or ``None`` before there are any."""
        raise NotImplementedError


class Ours(Tracker):
    """The estimator, or with an engine the loop beneath it."""

    def __init__(self, d, *, engine=None, forgetting=None):
        super().__init__(d)
        self.engine, self.forgetting = engine, forgetting
        self.setting = "" if forgetting is None else f", forgetting {forgetting:g}"

    def start(self, n, rng):
        if self.engine is None:
            self.tracker = SubspaceTracker(self.d, forgetting=self.forgetting, random_state=0)
            return
        self.options = StreamOptions(step=NoisyStep(), engine=self.engine)
        self.stream = Stream.start(n, self.d, rng, from_rows=True)

    def learn(self, rows):
        if not len(rows):
            return
        if self.engine is None:
            self.tracker.partial_fit(rows)
        else:
            self.stream.learn(rows, self.options)

    def basis(self):
        return self.tracker.components_ if self.engine is None else self.stream.basis


class PlainGrouse(Tracker):
    """Algorithm 1 of Zhang & Balzano (2016) as one would write it, with eq. (8) clipped.

    ``size`` replaces the fraction 1 - alpha of eq. (8) by a constant.
    """

    def __init__(self, d, noise, size=None):
        super().__init__(d)
        self.noise, self.size = noise, size
        self.setting = ", noise given" if size is None else f", fraction {size:g}"

    def start(self, n, rng):
        self.u = np.linalg.qr(rng.standard_normal((n, self.d)))[0]
        self.level = self.noise / (1 + self.noise) * (1 - self.d / n)

    def learn(self, rows):
        u = self.u
        for x in rows:
            w = u.T @ x
            p = u @ w
            r = x - p
            length, rest = np.linalg.norm(w), np.linalg.norm(r)
            fraction = self.size or max(0.0, 1 - self.level * (x @ x) / rest**2)
            angle = np.arctan(fraction * rest / length)
            turned = (np.cos(angle) - 1) / length * p + np.sin(angle) / rest * r
            u += np.outer(turned, w / length)

    def basis(self):
        return np.linalg.qr(self.u)[0].T


class Oja(Tracker):
    """Oja's rule on blocks: U <- qr(U + step X^T X U).

    The step is c, or c d / (t + c d) after t rows: the eigenvalues of the second moment of unit
    rows are about 1 / d.
    """

    timing = ""

    def __init__(self, d, c, *, block, constant=False):
        super().__init__(d)
        self.c, self.block, self.constant = c, block, constant
        self.setting = f", {'constant ' if constant else ''}step {c:g}"
        self.stride = -(-50 // block) * block

    def start(self, n, rng):
        self.u = np.linalg.qr(rng.standard_normal((n, self.d)))[0]
        self.seen = 0

    def learn(self, rows):
        for start in range(0, len(rows), self.block):
            x = rows[start : start + self.block]
            self.seen += len(x)
            fade = self.d / (self.seen + self.c * self.d)
            step = self.c * (1.0 if self.constant else fade)
            self.u = np.linalg.qr(self.u + step * (x.T @ (x @ self.u)))[0]

    def basis(self):
        return self.u.T


class Incremental(Tracker):
    """scikit-learn's IncrementalPCA, fed batches of one size; what is left over waits."""

    def __init__(self, d, batch):
        super().__init__(d)
        self.batch, self.stride = batch, -(-50 // batch) * batch
        self.setting = f", batch {batch}"

    def start(self, n, rng):
        self.model, self.waiting = self._model(), np.empty((0, n))

    def _model(self):
        from sklearn.decomposition import IncrementalPCA

        return IncrementalPCA(self.d)

    def learn(self, rows):
        rows = np.vstack([self.waiting, rows]) if len(self.waiting) else rows
        full = len(rows) // self.batch * self.batch
        for start in range(0, full, self.batch):
            self._learn_batch(rows[start : start + self.batch])
        self.waiting = rows[full:]

    def _learn_batch(self, rows):
        self.model.partial_fit(rows)

    def basis(self):
        return getattr(self.model, "components_", None)


class Restarted(Incremental):
    """IncrementalPCA that starts anew after a window of rows; the last full window answers."""

    def __init__(self, d, batch, window):
        super().__init__(d, batch)
        self.window = max(window, batch)
        self.setting = f", batch {batch}, window {window}"

    def start(self, n, rng):
        super().start(n, rng)
        self.found = None

    def _learn_batch(self, rows):
        self.model.partial_fit(rows)
        if self.model.n_samples_seen_ >= self.window:
            self.found, self.model = self.model.components_, self._model()

    def basis(self):
        return self.found


def python_products(basis):
    """W = U^T x and U w of each row, called from Python."""

    def call(rows):
        for x in rows:
            (basis @ x) @ basis

    return call


def compiled_products(basis):
    """The same products by the same BLAS, in a compiled loop; from Python without Numba."""
    try:
        import numba
    except ImportError:
        return python_products(basis)

    @numba.njit
    def loop(basis, rows, weights, fitted):
        for t in range(rows.shape[0]):
            np.dot(basis, rows[t], weights)
            np.dot(weights, basis, fitted)

    weights, fitted = np.empty(len(basis)), np.empty(basis.shape[1])
    return lambda rows: loop(basis, rows, weights, fitted)
