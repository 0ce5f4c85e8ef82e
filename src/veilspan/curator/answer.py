"""What the curator gives out: a noisy sum, and how its noise hangs together with other answers'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veilspan.privacy.correlation import Correlation
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.events import Event, GaussianEvent


@dataclass(frozen=True)
class Answer:
    """A noisy sum, and what is public about its noise.

    Attributes
    ----------
    value : Any
        The noisy sum, a value of the query's answer space. It is a *sum*: divide by a public
        number if a mean is wanted.
    noise_std : float
        Standard deviation of the noise in every orthonormal direction; 0 without privacy. With
        correlated noise that of z, to which ``Correlation`` relates all others.
    event : event
        What was charged.
    place : int
        With correlated noise, the answer's place in its triangular block; 0 opens one.
    """

    value: Any
    noise_std: float
    event: Event
    place: int = 0


@dataclass(frozen=True)
class Carried:
    """That an answer's noise is correlated with that of earlier blocks, and how.

    Attributes
    ----------
    correlation : Correlation
        The columns of C.
    fresh : bool
        Whether to forget earlier noise and open a new triangular block.
    """

    correlation: Correlation
    fresh: bool = False

    @property
    def how(self) -> tuple[Correlation, bool]:
        """The columns, and whether they start anew."""
        return self.correlation, self.fresh

    def check(self, spent: tuple[Event, ...]) -> None:
        """Refuse what the theorem does not cover: a second answer of the same rows, or a sample.

        Two answers of one block would be two columns with entries in the same rows.
        """
        if len(spent) != 1 or spent[0].count != 1 or not isinstance(spent[0], GaussianEvent):
            raise PrivacyError(
                "noise is carried on from block to block: one answer of all rows of a block, and "
                "no other answer of them."
            )
