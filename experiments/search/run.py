"""A private search of the row length beside a fit with a guess, on the same budget."""

import math
import warnings

import numpy as np

from veilspan import LogisticRegression, PrivateSearch

from ..erm import sets
from ..job import Claim
from ..style import CYCLE, panels, title

DELTA = 1e-6
EPSILONS = (1.0, 4.0)
REAL = ("a9a", "census-income", "covertype")
GENERATED = ("synthetic", "digits")
#: How a person guesses the length of rows, over what the documentation says.
GUESSES = {"documented": 1.0, "ten times too long": 10.0}
#: Candidates: the guess times these.
FACTORS = (1.0, 0.5, 0.25, 0.125, 0.0625)
FIT, SEARCH, UNPAID = "the guess, no search", "private search", "best of five, not paid for"
MOST_ROWS = 10_000  # training rows that are used, so that a full run takes minutes
PAYS = 0.002  # accuracy that counts as a gain; the search's 15 fits should be worth something
NOTES = (
    "delta = 1e-6, replace-one. Five candidates: the guessed row length times 1, 1/2, 1/4, 1/8 and "
    "1/16; gradient descent, all other settings are the defaults. Accuracy on rows that no fit has "
    "seen.",
    f"A search pays where it gains more than {PAYS} and two standard errors.",
)


def one_split(name, folder, seed, epsilons, rows):
    """All fits of one split."""
    split = sets.sources(folder)[name](seed)
    if split.shape[0] > rows:
        split = split.part(rows, seed)
    (x, y), (new, wanted) = split.train, split.test
    found = []
    for guess, times in GUESSES.items():
        length = times * split.settings["row_norm"]
        model = LogisticRegression(
            classes=(-1.0, 1.0), solver="gd", **{**split.settings, "row_norm": length}
        )
        for epsilon in epsilons:
            row = {"set": name, "seed": seed, "rows": x.shape[0], "guess": guess,
                   "epsilon": epsilon}  # fmt: skip
            scores = one_budget(model, length, epsilon, seed, x, y, new, wanted)
            found += [{**row, "method": method, "score": score} for method, score in scores]
    return found


def one_budget(model, length, epsilon, seed, x, y, new, wanted):
    """Scores of the guess, of the search and of the best candidate, on one budget."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds make simulations
        alone = []
        for factor in FACTORS:
            fit = model.__class__(**{
                **model.get_params(), "row_norm": factor * length, "epsilon": epsilon,
                "delta": DELTA, "random_state": seed,
            }).fit(x, y)  # fmt: skip
            alone.append(float(fit.score(new, wanted)))
        candidates = [{"row_norm": factor * length} for factor in FACTORS]
        search = PrivateSearch(
            model, candidates, epsilon=epsilon, delta=DELTA, random_state=seed
        ).fit(x, y)
    return (
        (FIT, alone[0]),
        (SEARCH, float(search.score(new, wanted))),
        (UNPAID, max(alone)),
    )


def means(rows):
    """Mean score of each (set, guess, epsilon, method); gain of the search, with its error."""
    scores, gains = {}, {}
    for row in rows:
        key = (row["set"], row["guess"], row["epsilon"])
        scores.setdefault((*key, row["method"]), []).append(row["score"])
    for key in dict.fromkeys(key[:3] for key in scores):
        differences = np.subtract(scores[*key, SEARCH], scores[*key, FIT])
        spread = np.std(differences, ddof=1) if len(differences) > 1 else math.inf
        gains[key] = float(differences.mean()), float(spread / math.sqrt(len(differences)))
    return {key: float(np.mean(values)) for key, values in scores.items()}, gains


def judge(scores, gains):
    """Where the search pays, where it costs, and how near it comes to what is not paid for."""
    claims = []
    for guess, wanted in zip(GUESSES, (False, True)):
        here = {key: gain for key, gain in gains.items() if key[1] == guess}
        paying = [key for key, (mean, error) in here.items() if mean > PAYS + 2 * error]
        told = ", ".join(f"{key[0]} at {key[2]:g}: {here[key][0]:+.3f}" for key in here)
        said = f"pays in {len(paying)} of {len(here)} ({told})"
        if wanted:
            claims.append(Claim("with a guess ten times too long the search pays everywhere", said,
                                len(paying) == len(here), who="ours"))  # fmt: skip
        else:
            claims.append(Claim("with the documented length the search pays somewhere", said,
                                bool(paying), who="ours"))  # fmt: skip
    left = max(scores[*key, UNPAID] - scores[*key, SEARCH] for key in gains)
    claims.append(Claim("the search is within 0.02 of the best that nobody paid for",
                        f"at most {left:.3f} below it", left <= 0.02, who="ours"))  # fmt: skip
    return claims


def draw(scores, names):
    """Bars of accuracy: a panel for each set, groups by guess and epsilon."""
    figure, axes = panels(1, len(names), width=3.6, height=3.0)
    groups = list(dict.fromkeys(key[1:3] for key in scores))
    for axis, name in zip(np.atleast_1d(axes).flat, names):
        for place, method in enumerate((FIT, SEARCH, UNPAID)):
            heights = [scores[name, *group, method] for group in groups]
            at = np.arange(len(groups)) + 0.27 * (place - 1)
            axis.bar(at, heights, 0.25, color=CYCLE[place], label=method)
        lowest = min(value for key, value in scores.items() if key[0] == name)
        axis.set(title=name, ylim=(max(0.0, lowest - 0.05), None), ylabel="accuracy")
        labels = [f"{guess}\nepsilon {epsilon:g}" for guess, epsilon in groups]
        axis.set_xticks(range(len(groups)), labels, fontsize=6)
    handles = np.atleast_1d(axes).flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3)
    title(figure, "A private search of the row length beside one fit with a guess")
    return figure


def run(job):
    """Fit every set with both guesses at every epsilon; draw and judge."""
    names = REAL if job.data is not None and job.scale != "tiny" else GENERATED
    names = job.pick(names[-1:], names, names)
    epsilons = job.pick((4.0,), EPSILONS, EPSILONS)
    rows = []
    for name, seed in job.track([(n, s) for n in names for s in range(job.pick(1, 2, 2))]):
        size = job.pick(1000, 5000, MOST_ROWS)
        rows += job.cell(
            [name, seed],
            lambda: one_split(name, job.data, seed, epsilons, size),  # noqa: B023
        )
    scores, gains = means(rows)
    job.picture(draw(scores, names))
    claims = judge(scores, gains)
    job.finish(
        f"With the documented length the search {claims[0].measured.split(' (')[0]}; with one ten "
        f"times too long it {claims[1].measured.split(' (')[0]}.",
        rows, claims,
        source="generated rows and digits" if names != REAL else ", ".join(REAL),
        notes=[*NOTES, f"{len({row['seed'] for row in rows})} splits."],
        gains=[{"set": k[0], "guess": k[1], "epsilon": k[2], "gain": v[0], "error": v[1]}
               for k, v in gains.items() if math.isfinite(v[1])],
    )  # fmt: skip
