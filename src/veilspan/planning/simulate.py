r"""What noise costs at each epsilon, by fits to made-up rows of a table's shape.

*Relative to no noise.* Each made-up table has a planted structure of known strength. A private fit
and the same fit at epsilon = inf learn from the same rows; u(fit) measures on fresh rows what was
learned, 0 being what one knows without any rows. The utility is u(private) over the most that less
noise gives, as a rule u(no noise), cut to [0, 1]; each u is a mean over a few tables. (Many columns
of curves follow few rows too closely without noise, and a little noise keeps them from it: beside
u(no noise) alone, noise that takes a quarter would seem to take nothing.) It tells what noise
takes, never how accurate a fit to somebody's data will be: that depends on data that nobody has
looked at.

*Many rows.* Large tables are simulated with m < n rows. What an estimator learns from is a mean
over rows: a sum of sensitivity D with Gaussian noise of standard deviation z D, divided by n.
Releases that compose to mu-GDP have z proportional to 1/mu (:mod:`veilspan.privacy.gdp`), so the
noise of the mean is proportional to

    1 / (n mu).

m rows at mu' = mu n / m therefore have exactly the noise of n rows at mu, for every release that is
a sum over rows with full-batch Gaussian noise, which most of ours are; the epsilon of mu' at the
same delta is what the made-up fit is given. For subsampled releases and for thresholds it is an
approximation. What differs is the rows' own randomness: m rows show a structure less clearly than
n, in both fits. Where that matters the ratio is a little too kind to noise, so m is never small
(``FEWEST_ROWS``), and the number is part of the result. Beyond the largest epsilon that a budget
may have the noise is larger than that of n rows, never smaller.

*How exact.* A dozen tables a point: curves of other seeds lie within about .15 of each other, and
the number of rows that is said to be enough is right within a factor of two.

*Between the fits* the curve is a monotone interpolation in log epsilon, after pooling neighbours
that fall: more epsilon never costs utility but for the luck of few tables.

*Rows like somebody's.* With a released profile of the table the rows are drawn from its histograms
and correlations, and where these say what there is to learn, nothing is planted
(:mod:`veilspan.planning.released_cells`). It is post-processing of what is public.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from veilspan._progress import show_progress
from veilspan.catalogue import ESTIMATORS, Kind
from veilspan.planning.released_trials import name_profile
from veilspan.planning.trials import (
    Case,
    Trial,
    make_trial,
    planted_words,
    reads_relation,
)
from veilspan.planning.utility_curve import (
    GOOD_ENOUGH,
    STRENGTHS,
    NotSimulatedError,
    UtilityCurve,
)
from veilspan.privacy.budget import MOST_EPSILON, Budget
from veilspan.privacy.gdp import epsilon_of

#: Where a curve is drawn by default, and how many fits of each table it runs through.
LOWEST, HIGHEST, DRAWN, GRID = 0.03, 10.0, 61, 6
#: Made-up tables of each strength: at least so many, and of few rows, which depend on luck, more.
FEWEST_REPEATS, MOST_REPEATS, ROWS_IN_ALL = 2, 10, 4000
#: So many times more of them for components, which noise turns away altogether or hardly at all:
#: what is kept of one table then has a standard deviation of .4, and a fit takes milliseconds.
MORE_FOR = {"rows": 2}
#: Once as much is learned at every strength as without noise, or about as much as with more of it,
#: larger epsilons are taken to keep as much: fits with next to no noise take seconds to plan.
SATURATED, FLAT = 0.98, 0.95
#: Levels of the grid this close to the epsilon that was asked about make place for it.
CLOSE = 1.25
#: Numbers in a made-up table, so that a simulation takes seconds; linear models take hundreds of
#: passes over theirs.
LARGEST = {"labels": 60_000, "numbers": 60_000, "ratings": 60_000, "points": 20_000}
LARGEST_OTHER, FEWEST_ROWS = 400_000, 1000
#: With more columns a fit takes minutes, and fewer would tell of another problem.
MOST_COLUMNS = 500
#: What is learned without noise must be more than this for a ratio to mean anything.
LEAST_LEARNED = 0.05
#: And more than this for what noise alone may seem to teach.
CLEARLY_LEARNED = 0.25
#: The number of rows that is good enough is looked for in such steps and then between two of them,
#: so many times at most, until they are this close: more than a digit would feign precision.
STEP, MOST_STEPS, NARROW = 4.0, 8, 1.5

Progress = Callable[[int, int], None]


def simulate_utility(
    estimator: Any,
    *,
    n: int,
    schema: Any = None,
    n_features: int | None = None,
    profile: Any = None,
    epsilons: Sequence[float] | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> UtilityCurve:
    """Foretell what noise costs an estimator on a table of this shape; no row is read.

    Parameters
    ----------
    estimator : estimator
        Unfitted, with the parameters and the budget in question.
    n : int
        Number of rows (users, points) of the table.
    schema : Schema, optional
        What is public of the table; by default the estimator's own.
    n_features : int, optional
        Number of columns, where there is no schema.
    profile : Profile, optional
        A released profile of the same schema (:func:`veilspan.load` reads one): rows are drawn from
        its histograms, missing shares and correlations instead of over whole ranges.
    epsilons : sequence of float, optional
        Where the curve is drawn, increasing; 61 from 0.03 to 10 by default.
    random_state : int
        Seed of the made-up rows and of the noise.
    progress : callable, optional
        Called with (fits done, fits in all); by default a bar is drawn on a terminal.

    Returns
    -------
    UtilityCurve
        With a conclusion in words.

    Raises
    ------
    NotSimulatedError
        Where there are no made-up tables by which such a fit could be judged.

    Examples
    --------
    >>> from veilspan import PCA
    >>> from veilspan.planning import simulate_utility
    >>> curve = simulate_utility(PCA(n_components=1, epsilon=0.1), n=30, n_features=5)
    >>> curve.conclusion.startswith("With 30 rows nothing can be learned at epsilon 0.1")
    True
    """
    case = _make_case(estimator, n, schema, n_features, random_state, profile)
    drawn = _check_epsilons(epsilons)
    asked = float(estimator.epsilon)
    levels = _choose_levels(drawn, asked)
    repeats = _count_repeats(case, n)
    total = len(STRENGTHS) * repeats * (len(levels) + 1) + 3 * MOST_STEPS * FEWEST_REPEATS
    with _count_fits(total, progress) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds are right here: no row is anybody's
        fits = _Fits(case, advance)
        found = fits.find_utilities(n, levels)
        hidden = tuple(s for s in STRENGTHS if found[s] is None)
        curves = {s: _draw(levels, found[s], drawn) for s in STRENGTHS}
        rows = None
        if math.isfinite(asked):
            at = _draw(levels, found["medium"], (asked,))[0]
            rows = n
            if at < GOOD_ENOUGH:
                rows = _find_rows(fits, n, asked, levels, found["medium"], at)
    measure, planted = planted_words(case)
    for strength in hidden:
        planted[strength] += (
            f"; {case.rows_for(n):,} made-up rows do not show it even without noise"
        )
    return UtilityCurve(
        estimator=type(estimator).__name__,
        measure=measure,
        planted=planted,
        n=n,
        n_features=case.n_features,
        epsilon=asked if math.isfinite(asked) else drawn[-1],
        delta=float(estimator.delta),
        rows_simulated=case.rows_for(n),
        repeats=repeats,
        simulated_at=levels,
        epsilons=drawn,
        utility=curves,
        hidden=hidden,
        rows_needed=rows,
        profile="" if profile is None else name_profile(profile),
        released=reads_relation(case),
    )


@dataclass
class _Fits:
    """Fits to made-up tables; tables and what is learned from them without noise are kept."""

    case: Case
    advance: Callable[[], None]
    _tables: dict[tuple[str, int, int], Trial] = field(default_factory=dict)

    def find_utilities(
        self, n: int, levels: Sequence[float]
    ) -> dict[str, tuple[float, ...] | None]:
        """Utility of each strength at each level; None where nothing is shown at any of them."""
        best = {s: self.learn(s, n, math.inf) for s in STRENGTHS}
        found: dict[str, list[float]] = {s: [] for s in STRENGTHS}
        for level in levels:
            if all(_rises_no_more(values, best[s]) for s, values in found.items()):
                for values in found.values():
                    values.append(values[-1])
                continue
            for s, values in found.items():
                values.append(self.learn(s, n, level))
        return {s: _relate(found[s], best[s]) for s in STRENGTHS}

    def find_utility(self, n: int, level: float) -> float:
        """The same for medium structure in other tables, at one level; 0 if nothing is shown."""
        values = [self.learn("medium", n, e) for e in (level, min(STEP * level, MOST_EPSILON))]
        related = _relate(values, self.learn("medium", n, math.inf))
        return 0.0 if related is None else related[0]

    def learn(self, strength: str, n: int, level: float) -> float:
        """What is learned from the rows that stand for n, with the noise that n would have."""
        delta = float(self.case.estimator.delta)
        return self._learn(strength, n, scale_epsilon(level, delta, n / self.case.rows_for(n)))

    def _learn(self, strength: str, n: int, epsilon: float) -> float:
        rows, learned = self.case.rows_for(n), []
        for k in range(_count_repeats(self.case, n)):
            seed = self.case.random_state + k
            table = self._table(strength, rows, k)
            found = table.learn(epsilon, seed, rows / n)
            learned.append(max(-1.0, found))  # luck cuts both ways; worse than nothing is no matter
            self.advance()
        return float(np.mean(learned))

    def _table(self, strength: str, rows: int, repeat: int) -> Trial:
        key = (strength, rows, repeat)
        if key not in self._tables:
            seed = self.case.random_state + repeat
            self._tables[key] = make_trial(self.case, strength, rows, seed)
        return self._tables[key]


def _rises_no_more(learned: Sequence[float], best: float) -> bool:
    """Whether less noise would give no more than it gave so far.

    Either as much is learned as without noise, or, where no noise gives less than some, as much as
    with more noise before; then it must be enough not to be two draws of nothing.
    """
    if not learned or best < LEAST_LEARNED:
        return False
    if SATURATED * best <= learned[-1] <= best / SATURATED:
        return True
    before = learned[-2] if len(learned) > 1 else 0.0
    return learned[-1] > max(best, CLEARLY_LEARNED) and FLAT * learned[-1] <= before


def _relate(learned: Sequence[float], without: float) -> tuple[float, ...] | None:
    """What is learned at each level over the most that less noise gives; None if that is nothing.

    ``without`` is what is learned without noise.
    """
    most = np.maximum.accumulate([without, *reversed(learned)])[:0:-1]
    if max(most) < LEAST_LEARNED:
        return None
    return tuple(float(v) for v in np.clip(np.divide(learned, most), 0.0, 1.0))


def scale_epsilon(epsilon: float, delta: float, factor: float) -> float:
    """The epsilon whose mu is ``factor`` times that of ``epsilon``, at the same delta.

    At most the largest that a budget may have: the noise is then too loud rather than too quiet.
    """
    if factor == 1 or math.isinf(epsilon):
        return epsilon
    return min(max(epsilon_of(Budget(epsilon, delta).mu * factor, delta), epsilon), MOST_EPSILON)


def _find_rows(
    fits: _Fits,
    n: int,
    epsilon: float,
    levels: Sequence[float],
    found: Sequence[float] | None,
    here: float,
) -> int | None:
    """About how many rows are good enough at an epsilon for medium structure.

    A first guess keeps n mu: rows that have at this epsilon the noise that n rows have at an
    epsilon that is good enough. Made-up tables of so many rows then decide, since few rows also
    show little by themselves; between a number that is too small (n at first, with the utility
    ``here``) and one that is good enough the middle is tried until they are close.
    """
    delta = float(fits.case.estimator.delta)
    enough = [e for e, value in zip(levels, found or (), strict=False) if value >= GOOD_ENOUGH]
    target = enough[0] if enough and enough[0] > epsilon else levels[-1]
    ratio = Budget(max(target, epsilon), delta).mu / Budget(epsilon, delta).mu
    small, low, large, high = float(n), here, math.inf, 1.0
    rows = n * max(ratio, NARROW)
    for _ in range(MOST_STEPS):
        value = fits.find_utility(math.ceil(rows), epsilon)
        if value >= GOOD_ENOUGH:
            large, high = rows, value
        else:
            small, low = rows, value
        if large <= NARROW * small:
            break
        rows = math.sqrt(small * large) if math.isfinite(large) else rows * STEP
    if math.isinf(large):
        return None
    share = (GOOD_ENOUGH - low) / max(high - low, 1e-9)
    return math.ceil(small * (large / small) ** min(1.0, max(0.0, share)))


def _make_case(
    estimator: Any,
    n: int,
    schema: Any,
    n_features: int | None,
    random_state: int,
    profile: Any,
) -> Case:
    kind = _kind_of(estimator)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 2:
        raise ValueError("a simulation needs the number of rows: n=..., at least 2.")
    own = getattr(estimator, "schema", None)
    if schema is not None and own is not None and schema != own:
        raise ValueError("the estimator has another schema already: leave schema= out.")
    schema = own if schema is None else schema
    case = Case(estimator, kind, schema, n_features, random_state, _most_rows, profile)
    if case.n_features > MOST_COLUMNS:
        raise NotSimulatedError(f"more than {MOST_COLUMNS} columns would take minutes.")
    return case


def _most_rows(kind: Kind, n_features: int) -> int:
    """Rows of a made-up table at most."""
    return max(FEWEST_ROWS, LARGEST.get(kind.reads, LARGEST_OTHER) // n_features)


def _kind_of(estimator: Any) -> Kind:
    for base in type(estimator).__mro__:
        if base.__name__ in ESTIMATORS and base.__module__.startswith("veilspan."):
            return ESTIMATORS[base.__name__]
    raise NotSimulatedError(
        f"there are no made-up tables to judge {type(estimator).__name__} by: give one of "
        f"{', '.join(ESTIMATORS)}."
    )


def _check_epsilons(epsilons: Sequence[float] | None) -> tuple[float, ...]:
    if epsilons is None:
        return tuple(float(f"{e:.4g}") for e in np.geomspace(LOWEST, HIGHEST, DRAWN))
    drawn = tuple(float(e) for e in epsilons)
    if len(drawn) < 2 or any(not 0 < a < b < math.inf for a, b in pairwise(drawn)):
        raise ValueError("epsilons must be two or more finite numbers above 0, increasing.")
    for epsilon in drawn:
        Budget(epsilon, 1e-6)
    return drawn


def _choose_levels(drawn: Sequence[float], asked: float) -> tuple[float, ...]:
    """Epsilons of the fits: about even steps of the logarithm, and the one that was asked about."""
    first, last = drawn[0], drawn[-1]
    steps = [float(f"{e:.1g}") for e in np.geomspace(first, last, min(GRID, len(drawn)))[1:-1]]
    inner = {e for e in steps if first < e < last}
    if first < asked < last:
        inner = {e for e in inner if not 1 / CLOSE < e / asked < CLOSE} | {asked}
    return (first, *sorted(inner), last)


def _count_repeats(case: Case, n: int) -> int:
    """Made-up tables that stand for one of ``n`` rows."""
    usual = min(MOST_REPEATS, max(FEWEST_REPEATS, ROWS_IN_ALL // case.rows_for(n)))
    return int(usual * MORE_FOR.get(case.kind.reads, 1))


def _draw(
    levels: Sequence[float], values: Sequence[float] | None, drawn: Sequence[float]
) -> tuple[float, ...]:
    """A curve that never falls, through the fits or between neighbours that fell."""
    if values is None:
        return (0.0,) * len(drawn)
    from scipy.interpolate import PchipInterpolator
    from scipy.optimize import isotonic_regression

    rising = isotonic_regression(np.asarray(values)).x
    curve = PchipInterpolator(np.log(levels), rising)
    places = np.clip(np.log(drawn), math.log(levels[0]), math.log(levels[-1]))
    return tuple(round(float(v), 4) for v in np.clip(curve(places), 0.0, 1.0))


@contextmanager
def _count_fits(total: int, progress: Progress | None) -> Iterator[Callable[[], None]]:
    """What counts a fit as done: on a bar, or to whoever wants to know."""
    done = 0
    with show_progress("simulating", total, quiet=progress is not None) as bar:

        def advance() -> None:
            nonlocal done
            done = min(total, done + 1)
            bar.advance()
            if progress is not None:
                progress(done, total)

        yield advance
        while done < total:  # rows that were good enough early
            advance()
