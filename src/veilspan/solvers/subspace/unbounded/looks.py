r"""Two looks at the rows: where their centre is, and how long they are around it.

The first look counts and adds up rows in shells around the origin (or a public centre) whose radii
grow by factors of 2, from 2^-48 to 2^64: about 4e-15 to 2e19. The outermost shell that surely holds
rows says how far they reach, and the sums of the shells up to it give a rough centre. The second
look does the same around that centre, with radii that grow by factors of 2^(1/4) up to twice as
far, and coarser ones beyond: its sums correct the centre, and its counts are the distribution of
the lengths, by which the bound is chosen (:mod:`.row_bound`).

Why two. The noise on a mean is as large as rows are long. Rows of length 1,000 that differ by 10
have a first centre with the noise of rows of 1,000, and a second one with that of rows of 10 or of
the first centre's error.

How far that goes. A look leaves an error of its noise times the distance that it looked over, so
two take a mean at distance M to about M/40 with 2,000 rows of 20 columns, and to M/4,000 with
20,000 (epsilon = 1, delta = 1e-6): too much from a thousand spreads on, or ten thousand, and a
warning says so. More looks would go further. In simulations with 1 % of the budget for each, 20,000
rows a million spreads away need three more for an error of 0.2 spreads; 2,000 rows need seven more
for one of 2.3, and twelve more, 12 % of the budget, still leave 0.9. They are not asked. The number
of looks is planned, so that all tables would pay for them, in noise and in time: each reads all
rows again, and a default fit already takes what it may, three times as long as one moment. Rows
that far away have a public vector near them, for ``center``, or go to ``RobustPCA``, whose
differences of paired rows lie nowhere.

All of this is post-processing of two charged answers
(:class:`~veilspan.queries.subspace.shells.ShellSums` has the proof).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veilspan.curator.curator import Answer, Curator
from veilspan.queries.subspace.shells import ShellSums
from veilspan.solvers.noisy_counts import find_outermost, noise_quantile

FIRST_LOOK, SECOND_LOOK = "first look", "second look"
#: Radii of the first look: what lies beyond counts in the outermost shells. Neither look has an
#: edge at 1 or another power of 2, where rows that were brought to one length would straddle it.
FIRST_SHELLS = ShellSums(2.0 ** (np.arange(-48, 65) + 0.5))
#: Radii of the second look over the first one's reach: 2^(1/4) apart up to twice it, where most
#: rows are, so that bounds are told apart by 19 %, and down to 2^-12 of it; then 2 apart up to
#: 2^12, for few rows that are much longer and that the first look could not see.
SECOND_EDGES = np.concatenate(
    [2.0 ** ((np.arange(-48, 5) + 0.5) / 4), 2.0 ** (np.arange(2, 13) + 0.125)]
)
#: Counts below so many stds of their noise are taken for none.
LIKELY = 2.0
#: Probability, over the noise, that a shell beyond all rows counts as one with rows. One far away
#: would make the centre and the bound those of noise.
UNLIKELY = 1e-6


@dataclass(frozen=True)
class Shells:
    """What one look released.

    Attributes
    ----------
    counts : array of shape (B,)
        Noisy number of rows in each shell.
    sums : array of shape (B, D)
        Noisy sum of the rows in each shell, minus the centre of the look.
    radii : array of shape (B,)
        Outer radii.
    noise_std : float
        Of a count; of a sum it is this times the radius.
    reach : int
        The outermost shell that surely holds rows; where none does, the one that holds most.
    seen : bool
        Whether there is one that surely does.
    """

    counts: np.ndarray
    sums: np.ndarray
    radii: np.ndarray
    noise_std: float
    reach: int
    seen: bool

    @cached_property
    def middles(self) -> np.ndarray:
        """Lengths that the rows of each shell are taken to have."""
        return (np.append(0.0, self.radii[:-1]) + self.radii) / 2

    @cached_property
    def taken(self) -> np.ndarray:
        """Shells up to the reach that are likely to hold rows: others add noise to a mean."""
        likely = self.counts > LIKELY * self.noise_std
        likely[self.reach] = True
        return np.flatnonzero(likely[: self.reach + 1])


@dataclass(frozen=True)
class Center:
    """A released centre.

    Attributes
    ----------
    place : array of shape (D,)
        Where it is.
    variance : float
        Of the noise on each of its coordinates.
    """

    place: np.ndarray
    variance: float


def look(curator: Curator, query: ShellSums, center: np.ndarray | None, event: str) -> Shells:
    """Ask for counts and sums in shells around a centre, charged to a planned event."""
    answer = curator.answer(query, center, event=event)
    return read_shells(answer, query.radii)


def read_shells(answer: Answer, radii: np.ndarray) -> Shells:
    """Counts, sums, and how far rows reach."""
    counts, sums = answer.value[:, 0], answer.value[:, 1:] * radii[:, None]
    sure = sure_count(answer.noise_std, len(counts))
    walked = int(find_outermost(counts[None, ::-1], np.zeros(1), sure)[0])
    seen = walked < len(counts)
    reach = len(counts) - 1 - walked if seen else int(np.argmax(counts))
    return Shells(counts, sums, radii, answer.noise_std, reach, seen)


def sure_count(noise_std: float, n_shells: int) -> float:
    """Count that noise alone reaches in a shell, or in several, with probability ``UNLIKELY``."""
    return noise_quantile(1, n_shells, UNLIKELY) * noise_std


def rough_center(shells: Shells, n_rows: float) -> Center:
    r"""Mean of the rows by a first look, shrunk where it is noise.

    The sums of the shells that rows are in are added up, each shrunk towards zero by as much as its
    noise explains of its length (James & Stein 1961, positive part): a shell in which rows point
    all ways, or which holds hardly any, adds little but noise. Where no shell surely holds rows the
    centre is the origin.
    """
    if not shells.seen:
        return Center(np.zeros(shells.sums.shape[1]), 0.0)
    used = shells.taken
    sums, noise = shells.sums[used], (shells.noise_std * shells.radii[used]) ** 2
    kept = _kept_share(sums, noise)
    place = (kept[:, None] * sums).sum(axis=0) / n_rows
    return Center(place, float(np.sum(kept**2 * noise)) / n_rows**2)


def corrected_center(first: Center, shells: Shells, n_rows: float) -> Center:
    r"""The rough centre moved by the mean of the rows around it, as a second look has it.

    By the gain v / (v + e^2) of two independent estimates of variances v (of the rough centre) and
    e^2 (of the second look); v is taken for larger where the move is longer than both explain.
    """
    if not shells.seen:
        return first
    used = shells.taken
    move = shells.sums[used].sum(axis=0) / n_rows
    error = float(np.sum((shells.noise_std * shells.radii[used]) ** 2)) / n_rows**2
    prior = max(first.variance, float(np.mean(move**2)) - error)
    gain = prior / (prior + error) if prior + error > 0 else 1.0
    return Center(first.place + gain * move, gain * error)


def noise_of_mean(shells: Shells, n_rows: float) -> float:
    """Std of the noise on each coordinate of the mean of the rows in a look's shells."""
    noise = shells.noise_std * shells.radii[shells.taken]
    return math.sqrt(float(np.sum(noise**2))) / n_rows


def _kept_share(sums: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Positive-part James-Stein factors of vectors with this noise variance on each entry."""
    squares = np.einsum("ij,ij->i", sums, sums)
    width = max(sums.shape[1] - 2, 1)
    explained = np.where(squares > 0, width * noise / np.where(squares > 0, squares, 1.0), 0.0)
    return np.maximum(1.0 - explained, 0.0)


def share_of_mean(shells: Shells, n_rows: float) -> float:
    """Share of the rows' squared length about the look's centre that is their mean's, 0 to 1."""
    used = shells.taken
    mean = shells.sums[used].sum(axis=0) / n_rows
    noise = float(np.sum((shells.noise_std * shells.radii[used]) ** 2)) / n_rows**2
    length2 = max(float(mean @ mean) - len(mean) * noise, 0.0)
    energy = float(np.maximum(shells.counts, 0.0)[used] @ shells.middles[used] ** 2) / n_rows
    return min(length2 / energy, 1.0) if energy > 0 else math.nan


@dataclass(frozen=True)
class Surroundings:
    """What two looks say of the rows.

    Attributes
    ----------
    center : array of shape (D,) or None
        What is subtracted from rows, released or public; ``None`` for the origin.
    shells : Shells
        Of the second look.
    mean_share : float
        Share of the squared length around the first look's centre that is the mean's.
    n_rows : float
        Number of rows, public or released.
    center_error : float
        Expected squared distance of a released centre from the mean; 0 for a public one.
    center_std : float
        Std of the noise of the second look's mean, in each coordinate; 0 for a public centre.
    """

    center: np.ndarray | None
    shells: Shells
    mean_share: float
    n_rows: float
    center_error: float = 0.0
    center_std: float = 0.0

    @property
    def seen(self) -> bool:
        """Whether rows were seen above the noise."""
        return self.shells.seen

    @property
    def center_noise(self) -> np.ndarray | None:
        """Std of the noise on each coordinate of a released centre, where one was seen.

        That of the second look as it is: what joining it with the first gains rests on a guess.
        """
        if self.center is None or not self.seen or not self.center_std > 0:
            return None
        return np.full(len(self.center), self.center_std)

    @property
    def left_out(self) -> float:
        """Share of the rows that noise kept out of the second look's mean, and what it may be."""
        used = self.shells.taken
        counted = float(self.shells.counts[used].sum())
        doubt = self.shells.noise_std * math.sqrt(len(used))
        return min(max(self.n_rows - counted, 0.0) + doubt, self.n_rows) / self.n_rows


def look_around(
    curator: Curator, center: np.ndarray | None, n_rows: float, *, private_center: bool
) -> Surroundings:
    """Look twice: around a public centre or the origin, and around what the first look found.

    Parameters
    ----------
    curator : Curator
        Whose plan holds both looks.
    center : array or None
        Public centre; ``None`` is the origin.
    n_rows : float
        Number of rows, public or released.
    private_center : bool
        Whether the centre is to be found. If not, both looks are around the public one.
    """
    first = look(curator, FIRST_SHELLS, center, FIRST_LOOK)
    reach = float(first.radii[first.reach])
    mean_share = share_of_mean(first, n_rows)
    if not private_center:
        second = look(curator, ShellSums(reach * SECOND_EDGES), center, SECOND_LOOK)
        return Surroundings(center, second, mean_share, n_rows)
    rough = rough_center(first, n_rows)
    second = look(curator, ShellSums(reach * SECOND_EDGES), rough.place, SECOND_LOOK)
    found = corrected_center(rough, second, n_rows)
    error = found.variance * len(found.place)
    std = noise_of_mean(second, n_rows)
    return Surroundings(found.place, second, mean_share, n_rows, error, std)
