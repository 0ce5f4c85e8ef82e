"""Where randomness comes from: a cryptographic source by default, a seed for simulations only.

The secure source runs a block cipher in counter mode (AES-128 where the processor has AES
instructions, else ChaCha20) under a key drawn from the operating system. The key never leaves the
object: it cannot be pickled or copied, and a forked child draws a new one, because two processes
that share a key add *the same* noise to different answers.

Which rows enter a Poisson sample is as secret as the noise. Every sampling step gets a stream of
its own, derived from the key and the step's number, so that a repeated step samples the same rows.
What a solver decides by chance is no secret; its coins have streams of their own, too, so that
whoever holds one of them holds nothing of the others.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, NoReturn

import numpy as np


class NoiseSource(ABC):
    """Where all randomness of a release comes from: its noise, its samples, a solver's coins."""

    #: Whether a release made with this source can be private.
    secure: bool
    #: How the source works, in a few words, for the record of a release.
    description: str
    #: Numbers the answers that draw from this source, from 0 on: ``next(source.steps)``. The source
    #: counts, since several curators may share it: two sampled answers with one number would take
    #: the same sample.
    steps: Iterator[int]

    def __init__(self) -> None:
        self.steps = count()

    @property
    @abstractmethod
    def generator(self) -> np.random.Generator:
        """The stream that the noise is drawn from."""

    @abstractmethod
    def sampling_stream(self, step: int) -> np.random.Generator:
        """The stream of the coins of sampling step ``step``: the same for the same step."""

    @abstractmethod
    def coins(self, purpose: str) -> np.random.Generator:
        """The stream of a solver's own choices: the same for the same purpose.

        It may be given away: from its state neither the noise nor a sample can be told.
        """

    @abstractmethod
    def sampling_key(self, step: int, part: int) -> SamplingKey:
        """What another process needs for the coins of one part of the rows in one step.

        Parts have independent streams. A task that is run again gets the same key, so it samples
        the same rows: a second outcome would be a second release for one charge.
        """


@dataclass(frozen=True)
class SamplingKey:
    """The coins of one part of one sampling step, and nothing else of their source.

    A key is derived from the source's secret by a one-way function: whoever sees it learns one
    part's sample, neither the noise nor other samples. It is as secret as that sample.

    The key says which cipher: a task that is run again on another kind of processor must not
    draw another sample.
    """

    secret: bytes = field(repr=False)
    seeded: bool = False
    aes: bool = True

    def coins(self) -> np.random.Generator:
        """The stream of this part's coins; each call starts it again from its beginning."""
        if self.seeded:
            return np.random.default_rng(list(self.secret))
        return np.random.Generator(_counter_mode(self.secret, self.aes))


class SecureNoise(NoiseSource):
    """Cryptographically secure randomness, keyed by the operating system."""

    secure = True

    def __init__(self) -> None:
        super().__init__()
        self._rekey()
        _LIVING.add(self)

    def _rekey(self) -> None:
        self._owner = os.getpid()
        # As long as the longest key that is derived from it, which is ChaCha20's.
        self._secret = secrets.token_bytes(32)
        self._stream = self._derive(b"noise")

    def _derive(self, purpose: bytes) -> np.random.Generator:
        """Make an independent stream: BLAKE2b, keyed with the secret, as key derivation."""
        return np.random.Generator(_counter_mode(self._key_for(purpose)))

    def _key_for(self, purpose: bytes) -> bytes:
        return hashlib.blake2b(purpose, key=self._secret, digest_size=32).digest()

    def _rekey_if_forked(self) -> None:
        # The at-fork hook re-keys as well; this also covers processes made without it.
        if os.getpid() != self._owner:
            self._rekey()

    @property
    def generator(self) -> np.random.Generator:
        """The noise stream of this process."""
        self._rekey_if_forked()
        return self._stream

    def sampling_stream(self, step: int) -> np.random.Generator:
        """Coins of one sampling step, under a key derived from the secret and the step's number."""
        self._rekey_if_forked()
        return self._derive(b"sampling" + step.to_bytes(8, "big"))

    def coins(self, purpose: str) -> np.random.Generator:
        """A solver's own coins, under a key that is derived one-way."""
        self._rekey_if_forked()
        return self._derive(b"coins" + hashlib.blake2b(purpose.encode(), digest_size=32).digest())

    def sampling_key(self, step: int, part: int) -> SamplingKey:
        """Key of the coins of one part of a step; nothing else can be derived from it."""
        self._rekey_if_forked()
        purpose = b"part" + step.to_bytes(8, "big") + part.to_bytes(8, "big")
        return SamplingKey(self._key_for(purpose), aes=_has_aes_instructions())

    @property
    def description(self) -> str:  # type: ignore[override]
        """Name of the cipher and where its key comes from, for the record of a release."""
        return f"{cipher_name()} in counter mode, keyed by the operating system"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a secure noise source holds a secret key and is never copied or pickled; "
            "make a new SecureNoise() instead."
        )

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce_ex__(2)

    def __repr__(self) -> str:
        return f"SecureNoise({cipher_name()})"


class SeededNoise(NoiseSource):
    """Reproducible noise for tests and simulations. A release made with it is **not** private.

    Whoever knows the seed can subtract the noise; the same seed on two tables that differ in one
    row gives that row away exactly.
    """

    secure = False
    description = "a seeded generator (simulation, not private)"

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self._stream = np.random.default_rng([seed, 0])

    @property
    def generator(self) -> np.random.Generator:
        """The stream of the noise, which starts at the seed and goes on from answer to answer."""
        return self._stream

    def sampling_stream(self, step: int) -> np.random.Generator:
        """Coins of one sampling step: a stream that starts at the seed and the step's number."""
        return np.random.default_rng([self.seed, 1, step])

    def coins(self, purpose: str) -> np.random.Generator:
        """A solver's own coins: a stream that starts at the seed and a digest of the purpose."""
        digest = hashlib.blake2b(purpose.encode(), digest_size=8).digest()
        return np.random.default_rng([self.seed, 2, int.from_bytes(digest, "big")])

    def sampling_key(self, step: int, part: int) -> SamplingKey:
        """Key of the coins of one part of a step, by a digest of the seed and both numbers."""
        text = f"{self.seed} {step} {part}".encode()
        return SamplingKey(hashlib.blake2b(text, digest_size=32).digest(), seeded=True)

    def __repr__(self) -> str:
        return f"SeededNoise({self.seed})"


def noise_source(random_state: int | None) -> NoiseSource:
    """Turn scikit-learn's ``random_state`` into a source: ``None`` is secure, an int simulates."""
    if random_state is None:
        return SecureNoise()
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be >= 0; got {random_state}.")
        return SeededNoise(int(random_state))
    raise TypeError(
        "random_state must be None (secure noise) or an int (simulation, not private); "
        f"got {type(random_state).__name__}."
    )


def cipher_name() -> str:
    """Name of the cipher that this processor runs fastest."""
    return "AES-128" if _has_aes_instructions() else "ChaCha20"


def _counter_mode(key: bytes, aes: bool | None = None) -> Any:
    """A cipher's stream: AES also where it is slow, if asked for; by default the fastest."""
    # `key=` sets the cipher's key itself; `seed=` would pass it through a weak mixer.
    from randomgen import AESCounter, ChaCha

    if _has_aes_instructions() if aes is None else aes:
        return AESCounter(key=int.from_bytes(key[:16], "big"))
    return ChaCha(key=int.from_bytes(key, "big"), rounds=20)


@lru_cache(maxsize=1)
def _has_aes_instructions() -> bool:
    from randomgen import AESCounter

    return bool(AESCounter(key=0).use_aesni)


# All sources of this process that somebody still holds: the child of a fork gives each a new key.
_LIVING: weakref.WeakSet[SecureNoise] = weakref.WeakSet()


def _rekey_all() -> None:
    for source in list(_LIVING):
        source._rekey()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_rekey_all)
