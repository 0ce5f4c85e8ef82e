"""A distinguishing game against the curator: a lower bound on mu from many runs."""

import numpy as np
from scipy.special import betainccinv
from scipy.stats import norm


def upper_bound(hits, runs, alpha):
    """One-sided Clopper-Pearson bound on a probability."""
    return 1.0 if hits >= runs else float(betainccinv(hits + 1.0, runs - hits, alpha))


def mu_lower_bound(scores, other_scores, alpha):
    """Lower bound on mu, wrong with probability at most alpha if the mechanism is mu-GDP.

    Half of the runs choose the threshold, the other half judge it: mu-GDP implies
    Phi^-1(1 - FPR) - Phi^-1(FNR) <= mu for every test.
    """
    half = len(scores) // 2
    candidates = np.quantile(np.concatenate([scores[:half], other_scores[:half]]), _LEVELS)

    def bound(null, alternative, threshold):
        false_positive = upper_bound(np.sum(null > threshold), len(null), alpha / 2)
        false_negative = upper_bound(np.sum(alternative <= threshold), len(alternative), alpha / 2)
        return norm.isf(false_positive) - norm.ppf(false_negative)

    chosen = max(candidates, key=lambda t: bound(scores[:half], other_scores[:half], t))
    return max(0.0, float(bound(scores[half:], other_scores[half:], chosen)))


_LEVELS = np.linspace(0.01, 0.99, 99)
