import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from veilspan import PCA
from veilspan.privacy.noise import SecureNoise, SeededNoise, noise_source

ALPHA = 1e-6  # false-alarm probability of each statistical test below


def test_secure_normals_follow_the_density():
    draws = SecureNoise().generator.standard_normal(200_000)
    assert stats.kstest(draws, "norm").pvalue > ALPHA


def test_the_same_test_sees_a_scale_that_is_three_percent_off():
    draws = np.random.default_rng(0).standard_normal(200_000)
    assert stats.kstest(0.97 * draws, "norm").pvalue < ALPHA


def test_two_sources_share_nothing():
    a, b = (SecureNoise().generator.standard_normal(4) for _ in range(2))
    assert not np.any(a == b)


def test_sampling_streams_are_repeatable_per_step_and_unlike_the_noise():
    for source in (SecureNoise(), SeededNoise(3)):
        first = source.sampling_stream(0).random(5)
        np.testing.assert_array_equal(first, source.sampling_stream(0).random(5))
        assert not np.any(first == source.sampling_stream(1).random(5))
        assert not np.any(first == source.generator.random(5))


def _child(source, connection):
    connection.send((source.generator.random(4), source.sampling_stream(0).random(4)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_draws_its_own_noise():
    context = multiprocessing.get_context("fork")
    source = SecureNoise()
    draws = []
    for _ in range(2):
        ours, theirs = context.Pipe()
        process = context.Process(target=_child, args=(source, theirs))
        process.start()
        draws.append(np.concatenate(ours.recv()))
        process.join()
    draws.append(np.concatenate([source.generator.random(4), source.sampling_stream(0).random(4)]))
    for i in range(3):
        for j in range(i):
            assert not np.any(draws[i] == draws[j])


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_never_copied(copier):
    with pytest.raises(TypeError, match="never copied"):
        copier(SecureNoise())


def test_estimators_carry_no_source():
    pca = PCA(1).fit(np.eye(4))
    assert b"SecureNoise" not in pickle.dumps(pca)
    assert vars(clone(pca)).keys() == vars(PCA()).keys()


def test_repr_hides_the_key():
    source = SecureNoise()
    assert source._secret.hex() not in repr(source)
    assert len(repr(source)) < 40


def test_random_state():
    assert noise_source(None).secure
    assert not noise_source(3).secure
    assert not noise_source(np.int64(3)).secure
    with pytest.raises(ValueError, match="random_state"):
        noise_source(-1)
    for bad in (1.5, "secret", True, np.random.default_rng(0)):
        with pytest.raises(TypeError, match="random_state"):
            noise_source(bad)


def test_chacha_where_there_are_no_aes_instructions(monkeypatch):
    monkeypatch.setattr("veilspan.privacy.noise._has_aes_instructions", lambda: False)
    source = SecureNoise()
    assert "ChaCha20" in source.description
    assert stats.kstest(source.generator.standard_normal(50_000), "norm").pvalue > ALPHA


def test_a_sampling_key_gives_one_sample_on_all_processors(monkeypatch):
    """The cipher is chosen where the key is made, not where it is used."""
    keys = [SecureNoise().sampling_key(0, 0)]
    monkeypatch.setattr("veilspan.privacy.noise._has_aes_instructions", lambda: False)
    keys.append(SecureNoise().sampling_key(0, 0))
    without = [key.coins().random(100) for key in keys]
    monkeypatch.setattr("veilspan.privacy.noise._has_aes_instructions", lambda: True)
    for key, coins in zip(keys, without):
        np.testing.assert_array_equal(key.coins().random(100), coins)
    assert not keys[1].aes


def test_aes_in_software_is_the_same_cipher():
    from randomgen import AESCounter

    streams = [AESCounter(key=7) for _ in range(2)]
    streams[1].use_aesni = False
    fast, slow = (np.random.Generator(stream).random(1000) for stream in streams)
    np.testing.assert_array_equal(fast, slow)


def test_steps_are_counted_by_the_source():
    for source in (SecureNoise(), SeededNoise(3)):
        assert [next(source.steps) for _ in range(3)] == [0, 1, 2]
    assert next(SeededNoise(3).steps) == 0


def test_parallel_fits_draw_unlike_noise():
    from joblib import Parallel, delayed

    x = np.random.default_rng(0).standard_normal((50, 3))
    fits = Parallel(n_jobs=2)(delayed(PCA(1).fit)(x) for _ in range(4))
    directions = {fit.components_.tobytes() for fit in fits}
    assert len(directions) == 4
