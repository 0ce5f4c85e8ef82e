r"""The curator: clip, sample, sum, add noise, charge. This file is the privacy proof.

Theorem. Let a curator answer questions under a plan with budget (epsilon, delta) and relation N.
Then the sequence of all its answers is (epsilon, delta)-DP under N, for any solver: any function,
random or not, that chooses each question by what the curator's public names gave it before.

Proof. (1) *One answer.* The contributions of a query at a public point, multiplied by
``clip_weights``, have norm at most ``bound``; so tables related by N have exact sums at distance at
most ``query.sensitivity(N)`` (see ``query``), and rounded sums at distance at most
``scale.sensitivity`` (see ``privacy.grid``). Noise of std z times that on every coordinate makes it
a Gaussian mechanism with multiplier z. With Poisson sampling at rate q, given the sample of all
other rows the two outputs are the pairs of ``privacy.accounting`` with distance ``bound`` (plus
rounding) to the sum without the row; mixing over the other rows' sample does not increase a
hockey-stick divergence. (2) *All answers.* The point and, in an adaptive plan, the multiplier are
functions of earlier answers, public facts and a solver's own coins, so the answers are an adaptive
composition. The meter admits, before any row is read, either the events of the plan, which together
cost no more than the budget or there would be no plan (``privacy.plan``), or Gaussian questions
whose exact sum of mu^2 is within that of the budget (``privacy.meter``). (3) *Everything else.*
``project`` and all solvers see answers only: post-processing. Coins that a solver asks for
(:meth:`Curator.coins`) come from a stream of their own, independent of noise and samples, as if it
had brought them; the source of these stays inside, and neither it, the plan nor the kind of noise
can be changed from outside. The number of rows is given out only under replace-one, where it is
public. []

*Stages.* A fit may ask first how rows are to be prepared and then ask the prepared rows
(:meth:`Curator.mapped`), or give parts of its plan to several solvers (:meth:`Curator.part`). Both
return the same door: one meter, one source of noise, one tape. The map of a later stage is a
function of earlier answers and public numbers and looks at one row at a time, so given these
answers related tables stay related, and (1) holds for what is asked of the mapped rows. (2) speaks
of the one meter, whatever view a question came through. A stage may also see differences of paired
rows (:meth:`Curator.paired`), under replace-one: ``paired_rows`` says why these stay related. No
row is read for a map or a view: that is done inside the first question, which is charged before it.

*Who is trusted with rows.* A query's block functions and a marked row map
(``curator.row_maps``) see rows, in here, and are held to what their docstrings derive. A solver may
be anything; a query or map that it brings along must be such a one.

:meth:`Curator.minimum` is a second kind of answer, the minimum of a tilted objective. It takes the
place of (1) with the theorem of ``docs/explanation/objective_perturbation.md``; (2) and (3) stay as
they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from veilspan.curator.answer import Answer as Answer
from veilspan.curator.answer import Carried
from veilspan.curator.clipping import GROUP, Sampling
from veilspan.curator.paired_rows import open_pairs
from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import ROW_MAPS
from veilspan.curator.rows import Block
from veilspan.curator.silence import Silence
from veilspan.curator.tape import CURRENT_TAPE, Question, fingerprint
from veilspan.privacy.budget import Budget
from veilspan.privacy.discrete import add_discrete_noise
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.events import Event, ObjectiveEvent, SampledGaussianEvent, with_count
from veilspan.privacy.grid import FINEST, MAX_ROWS, NoiseScale, add_noise, float_slack, noise_scale
from veilspan.privacy.meter import GaussianFilter, meter_for
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.noise_buffers import FINEST_BITS, NoiseBuffers, slack_steps
from veilspan.privacy.plan import Plan, PlanPart

if TYPE_CHECKING:
    from veilspan.curator.objective_door import RowLoss

NoiseKind = Literal["grid", "exact"]


class Curator:
    """Holds the rows of one fit and answers what its plan covers.

    Parameters
    ----------
    rows : Rows
        The table.
    plan : Plan
        What may be asked, with how much noise.
    source : NoiseSource
        Where noise and sampling coins come from.
    noise : {"grid", "exact"}
        Gaussian noise rounded to a grid, or the exact discrete Gaussian (small answers only).
    buffers : NoiseBuffers, optional
        What the noise of a stream's earlier blocks has left, for answers that carry it on.
    """

    #: Rows that one unit of the relation is: more than one in ``curator.group_curator`` alone.
    _rows_moved = 1

    def __init__(
        self,
        rows: Any,
        plan: Plan,
        source: NoiseSource,
        *,
        noise: NoiseKind = "grid",
        buffers: NoiseBuffers | None = None,
    ) -> None:
        if noise not in ("grid", "exact"):
            raise ValueError(f'noise must be "grid" or "exact"; got {noise!r}.')
        if plan.neighbors == "replace-one" and plan.n_rows != rows.n_rows:
            raise PrivacyError("the plan was made for another number of rows: plan for these rows.")
        if plan.neighbors == "add-remove" and plan.n_rows is not None:
            raise PrivacyError("under add-remove a plan cannot know the number of rows.")
        if plan.n_rows is None and rows.n_rows > MAX_ROWS:
            raise ValueError(f"under add-remove at most {MAX_ROWS:,} rows are supported.")
        self._plan: Plan | PlanPart = plan
        self._source = source
        self._noise = noise
        self._buffers = buffers
        self._meter = meter_for(plan)
        self._rows = rows
        self._places = plan.n_rows  # rows that take part or are absent, where that is public
        self._suffix = ""

    def mapped(
        self,
        row_map: Callable[[Block], Block],
        n_features: int,
        budget: Budget | None = None,
        events: tuple[Event, ...] | None = None,
    ) -> Self:
        """The same door over rows taken through a map: the next stage of a fit.

        Parameters
        ----------
        row_map : callable
            From a block to a block with the same rows in the same order. It looks at one row at a
            time, is a function of public numbers and of answers that this fit was given, and is
            marked with ``row_map``: whoever brings an unmarked one is refused.
        n_features : int
            Columns after the map.
        budget, events : Budget, tuple of events, optional
            What is left to the stage: see :meth:`part`.
        """
        function = row_map if isinstance(row_map, FunctionType) else type(row_map).__call__
        if function not in ROW_MAPS.values():
            raise PrivacyError(
                "rows are mapped by functions that are marked as row maps alone "
                "(veilspan.curator.row_maps.row_map), which says what they must keep to."
            )
        view = self._view(budget, events, n_features)
        view._rows = self._rows.mapped(row_map, n_features)  # which no row is read for yet
        return view

    def paired(self, budget: Budget | None = None, events: tuple[Event, ...] | None = None) -> Self:
        """The same door over differences of randomly paired rows: see :func:`open_pairs`."""
        return open_pairs(self, self._view(budget, events, self._plan.n_features))

    def part(self, budget: Budget, events: tuple[Event, ...], suffix: str = "") -> Self:
        """The same door for one of several solvers of a fit: its events, and what it decides by.

        Parameters
        ----------
        budget : Budget
            What the solver may take for its budget when it chooses steps and scales. It charges
            nothing: the plan's meter does.
        events : tuple of events
            Those of the plan that are the solver's, without the suffix.
        suffix : str
            What their names end with in the plan, and what keeps the solver's coins apart.
        """
        view = self._view(budget, events, self._plan.n_features)
        view._suffix = suffix + self._suffix
        return view

    def _view(
        self, budget: Budget | None, events: tuple[Event, ...] | None, n_features: int
    ) -> Self:
        view = object.__new__(type(self))
        vars(view).update(vars(self))  # the meter and the source are shared, not copied
        view._plan = PlanPart(
            budget=self._plan.budget if budget is None else budget,
            neighbors=self._plan.neighbors,
            n_rows=self._plan.n_rows,
            n_features=n_features,
            events=self._plan.events if events is None else events,
            adaptive=self._plan.adaptive,
        )
        return view

    @property
    def plan(self) -> Plan | PlanPart:
        """The plan, or the part of it: which questions may be asked, with how much noise."""
        return self._plan

    def planned(self, name: str) -> Event:
        """The event of a name among those that are planned for a solver."""
        for event in self._plan.events:
            if event.name == name:
                return event
        raise ValueError(f"the plan has no event named {name!r}.")

    @property
    def is_sparse(self) -> bool:
        """Whether the table is stored sparse, which is part of its public form."""
        return bool(self._rows.is_sparse)

    @property
    def rounds_alike(self) -> bool:
        """Whether rows that stay are rounded alike on neighbouring tables: all on one machine."""
        return bool(self._rows.rounds_alike)

    @property
    def noise(self) -> NoiseKind:
        """How noise is drawn: on a grid, or as the exact discrete Gaussian."""
        return self._noise

    def coins(self, purpose: str) -> np.random.Generator:
        """Random numbers for a solver's own choices, e.g. of the iterate that it gives back.

        They are independent of all noise and of which rows are sampled, so knowing them, or their
        generator's state, tells nothing about a row.

        Parameters
        ----------
        purpose : str
            What they are for. The same purpose gets the same stream again, from its beginning.
        """
        return self._source.coins(purpose + self._suffix)

    @property
    def n_rows(self) -> int:
        """Number of rows, where it is public."""
        if self._plan.n_rows is None:
            raise PrivacyError("the number of rows is private under add-remove; ask for a count.")
        return self._plan.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns, after the maps of earlier stages."""
        return self._plan.n_features

    @property
    def mu_squared_left(self) -> float:
        """What an adaptive plan may still spend."""
        if not isinstance(self._meter, GaussianFilter):
            raise PrivacyError("a fixed plan has nothing left to distribute.")
        return self._meter.left

    @property
    def spent(self) -> tuple[Event, ...]:
        """Every event that was charged so far, equal ones joined."""
        return self._meter.spent

    @property
    def recorded(self) -> bool:
        """Whether answers go to a tape, which makes the release not private."""
        return CURRENT_TAPE.get() is not None

    def answer(
        self,
        query: RowQuery,
        point: Any = None,
        *,
        event: str,
        noise_multiplier: float | None = None,
        carried: Carried | None = None,
    ) -> Answer:
        """Answer one question: charge it, sum the clipped contributions, add noise once.

        Parameters
        ----------
        query : RowQuery
            What is summed.
        point : Any
            The public point at which it is asked.
        event : str
            Name of the planned event that pays for it.
        noise_multiplier : float, optional
            Noise std over sensitivity, under an adaptive plan. A question that the plan names need
            not say it: it then has the planned noise.
        carried : Carried, optional
            That its noise takes back some of that of earlier blocks: the theorem of
            ``privacy.correlation`` then stands in the place of (1) and (2).
        """
        plan, rows = self._plan, self._rows
        facts = query.public_facts(plan.neighbors, plan.n_features, point, sparse=rows.is_sparse)
        declared = self._rows_moved * facts.sensitivity
        if not (0 < query.bound < math.inf and 0 < declared < math.inf):
            raise ValueError(f"{query.name}: bound and sensitivity must be positive and finite.")
        # A solver asks for the noise of rows, and a unit may be several: see ``group_curator``.
        asked = None if noise_multiplier is None else noise_multiplier / self._rows_moved
        charged = self._meter.charge(event + self._suffix, asked)
        if isinstance(charged, ObjectiveEvent):
            raise PrivacyError(f"{event!r} pays for a minimum, not for a sum.")
        if carried is not None:
            carried.check(self._meter.spent)
        sampling, step = None, next(self._source.steps)
        sensitivity = declared
        if isinstance(charged, SampledGaussianEvent):
            sampling = Sampling(charged.sampling_rate, self._source, step)
            sensitivity = query.bound  # what the multiplier refers to: see ``privacy.events``
        # Noise of public numbers only. It covers the rounding of a sum over blocks of just these
        # many rows, where a sample without the row has blocks that are shorter by one.
        slack = self._rows_moved * float_slack(
            self._places,
            query.bound,
            facts.block_rows,
            GROUP,
            roundoff=facts.roundoff,
            alike=sampling is None and rows.rounds_alike,
            extra_terms=rows.extra_terms[plan.neighbors],
        )
        largest = (self._places or MAX_ROWS) * query.bound
        scale = noise_scale(
            charged.noise_multiplier,
            sensitivity,
            facts.coordinates,
            largest=largest,
            float_slack=slack,
            finest=FINEST if carried is None else FINEST_BITS,
            more_steps=0.0 if carried is None else slack_steps(carried.correlation),
        )
        place = 0
        with Silence(not self._source.secure):
            exact = rows.clipped_sum(query, point, facts.space, sampling, facts.block_rows)
            if carried is None:
                given = self._release(exact, scale, query, point, charged)
            else:
                buffers = NoiseBuffers() if self._buffers is None else self._buffers
                place = buffers.begin(*carried.how, scale, exact.size)
                centre, own = buffers.centre(exact), buffers.scale
                given = self._release(centre, own, query, point, charged)
                buffers.take(given, exact)
        return Answer(facts.space.project(given), scale.std, with_count(charged, 1), place)

    def minimum(self, loss: RowLoss, *, event: str, output: str, radius: float) -> Answer:
        """Minimise the sum of a loss with a random tilt: charge it, compute it, add a little noise.

        Parameters
        ----------
        loss : loss of a linear model
            Rows need targets. Lengths of rows and slopes are kept to the event's bounds.
        event : str
            Name of the planned ``ObjectiveEvent``, which holds lam, clip and the tilt's noise.
        output : str
            Name of the planned ``GaussianEvent`` that covers what float64 leaves inexact.
        radius : float
            Public R: a minimum longer than R comes back as one of length max(0, 2R - its length).

        Returns
        -------
        Answer
            Minimum of shape (p,) or (p, k); ``noise_std`` is that of the output noise alone.
        """
        from veilspan.curator.objective_door import minimum

        next(self._source.steps)
        return Answer(*minimum(self, loss, event, output, radius))

    def _release(
        self, exact: np.ndarray, scale: NoiseScale, query: RowQuery, point: Any, charged: Event
    ) -> np.ndarray:
        # A finite square is a sum of finite ones; one that overflows says nothing.
        if not (math.isfinite(np.vdot(exact, exact)) or np.isfinite(exact).all()):
            # Whether it is finite may depend on a row: outside of a simulation this is withheld.
            raise ArithmeticError(
                f"{query.name} produced a sum that is not finite: it must return finite "
                "contributions, or leave out rows of weight 0. Run veilspan.check_query on it."
            )
        tape = CURRENT_TAPE.get()
        if tape is None:
            return self._add_noise(exact, scale)
        question = Question(
            query.name,
            (charged.name, charged.noise_multiplier, charged.sampling_rate),
            query.bound,
            self._rows_moved * query.sensitivity(self.plan.neighbors),
            scale.std,
            exact.size,
            fingerprint(point),
        )
        return tape.exchange(question, exact, lambda: self._add_noise(exact, scale))

    def _add_noise(self, exact: np.ndarray, scale: NoiseScale) -> np.ndarray:
        draw = add_discrete_noise if self._noise == "exact" else add_noise
        return draw(exact, scale, self._source)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a curator holds rows and is never pickled or copied.")
