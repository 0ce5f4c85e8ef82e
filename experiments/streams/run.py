"""Private subspaces of streams, after 1 to 128 blocks: ours, two rivals, no privacy.

All methods are fed the same rows. Goals: at most 1.3 times (16 blocks) and 1.2 times (64, 128) the
distance of a square-root matrix mechanism that was built for 128 blocks; at most that of
independent noise from 16 blocks on, 1.1 times it after one block and 1.35 times after four.
"""

import math

import numpy as np

from ..job import Claim
from ..style import BASELINE, CYCLE, LINES, MARKERS, OURS, PLAIN, panels, title
from . import limits
from .methods import FREE, INDEPENDENT, MATRIX, METHODS, OURS_NAME
from .settings import CHECKS, DELTA, SETTINGS, distance

#: Most that ours may be of a rival, by the number of blocks.
GOALS = {
    MATRIX: {16: 1.3, 64: 1.2, 128: 1.2},
    INDEPENDENT: {1: 1.1, 4: 1.35, 16: 1.0, 64: 1.0, 128: 1.0},
}
LOOKS = {
    OURS_NAME: OURS.line(),
    INDEPENDENT: {"color": CYCLE[0], "linestyle": LINES[1], "marker": MARKERS[1]},
    MATRIX: {"color": CYCLE[1], "linestyle": LINES[2], "marker": MARKERS[2]},
    FREE: PLAIN.line(),
}
NOTES = (
    f"delta = {DELTA:g}, rows cut to length 1, a person in one block, replace-one. Distance: "
    "|P - Q|_F / sqrt(2 r), the mean over seeds.",
    "The square-root mechanism knows that there will be 128 blocks; ours does not, and goes on.",
    "The margins of stretching were set on these settings with other seeds.",
)


def one_stream(setting, seed, checks):
    """Distance of every method after each check, on the same rows."""
    rng = np.random.default_rng([seed, setting.columns, setting.rows])
    truth = setting.truth(rng)
    methods = {name: kind(setting, seed) for name, kind in METHODS.items()}
    found = []
    for block in range(1, checks[-1] + 1):
        rows = setting.block(truth, rng)
        for method in methods.values():
            method.learn(rows)
        if block in checks:
            found += [
                {"setting": setting.name, "seed": seed, "blocks": block, "method": name,
                 "distance": distance(truth, method.basis())}
                for name, method in methods.items()
            ]  # fmt: skip
    return found


def means(rows):
    """Mean distance and its standard error by setting, method and blocks."""
    cells = {}
    for row in rows:
        key = (row["setting"], row["method"], row["blocks"])
        cells.setdefault(key, []).append(row["distance"])
    return {
        key: (float(np.mean(v)), float(np.std(v, ddof=1) / math.sqrt(len(v)) if len(v) > 1 else 0))
        for key, v in cells.items()
    }


def worst_ratio(cells, rival, blocks):
    """The largest ratio to a rival over the settings, its standard error, and where."""
    found = []
    for setting, method, count in cells:
        if method != OURS_NAME or count != blocks:
            continue
        (ours, e), (theirs, f) = cells[setting, OURS_NAME, count], cells[setting, rival, count]
        ratio = ours / theirs
        found.append((ratio, ratio * math.hypot(e / ours, f / theirs), setting))
    return max(found)


def judge(cells, bounds):
    """The goals, rival by rival, and what is proved of the noise."""
    claims, checks = [], {key[2] for key in cells}
    for rival, goals in GOALS.items():
        for blocks, most in goals.items():
            if blocks not in checks:
                continue
            ratio, error, where = worst_ratio(cells, rival, blocks)
            claims.append(Claim(
                f"after {blocks} blocks at most {most:g} times {rival}",
                f"worst of the settings {ratio:.2f} +- {error:.2f} ({where})",
                ratio <= most + 2 * error, who="ours",
            ))  # fmt: skip
    claims.append(Claim(
        "the noise of running sums is within 5 % of what is possible at all 128 blocks at once",
        f"every mechanism has at least {bounds['least']:.3f} of ours at one of them",
        bounds["least"] > 0.95, who="ours",
    ))  # fmt: skip
    claims.append(Claim(
        "independent noise's first four blocks and the square root's later ones: not both",
        f"every mechanism has at least {bounds['ends']:.3f} of these at one of 128 blocks",
        bounds["ends"] > 1, who="ours",
    ))  # fmt: skip
    return claims


def describe(trade, frontier):
    """The trade-off in words: the noise at each check, and what nobody can have."""
    times = ", ".join(f"{row['blocks']}" for row in trade)
    stds = "; ".join(
        f"{name} {', '.join(format(row[name], '.2f') for row in trade)}"
        for name in ("ours", "independent", "square root")
    )
    least = ", ".join(
        f"{row['later ones at least']:.3f} ({row['first four blocks']:g})" for row in frontier
    )
    return (
        f"Noise of running sums after {times} blocks, in units of one block's: {stds}.",
        "What no mechanism for 128 blocks is below at all later blocks, over the square root's, "
        f"if its first four have at most so many times (in brackets) independent noise: {least}.",
    )


def draw(cells, checks):
    """A panel for each setting, and one for the noise of running sums."""
    names = list(dict.fromkeys(key[0] for key in cells))
    figure, axes = panels(math.ceil((len(names) + 1) / 2), 2, width=3.9, height=2.5)
    for axis, name in zip(axes.flat, names):
        for method, look in LOOKS.items():
            axis.plot(checks, [cells[name, method, t][0] for t in checks], **look, label=method)
        axis.set(xscale="log", yscale="log", title=name, xlabel="blocks", ylabel="distance")
        axis.set_xticks(checks, [f"{t}" for t in checks])
        axis.minorticks_off()
    handles = axes.flat[0].get_legend_handles_labels()
    axis = axes.flat[len(names)]
    times = np.arange(1, limits.BLOCKS + 1)
    for name, std in (
        (OURS_NAME, limits.ours()),
        (INDEPENDENT, limits.independent_std()),
        (MATRIX, limits.square_root_std()),
    ):
        axis.plot(times, std, **{**LOOKS[name], "marker": ""})
    axis.axhline(1.0, **BASELINE.line())
    axis.set(xscale="log", title="noise of running sums", xlabel="blocks", ylabel="one block's",
             ylim=(0.8, 5))  # fmt: skip
    axis.set_xticks(checks, [f"{t}" for t in checks])
    axis.minorticks_off()
    for axis in axes.flat[len(names) + 1 :]:
        axis.axis("off")
    figure.legend(*handles, loc="outside lower center", ncols=4)
    title(figure, "Private streams: distance to the subspace after so many blocks")
    return figure


def run(job):
    """All settings and seeds; the picture, the goals, the trade-off."""
    checks = job.pick((1, 4), CHECKS, CHECKS)
    settings = job.pick(SETTINGS[:2], SETTINGS, SETTINGS)
    first = 1000  # seeds that nothing was set by
    seeds = range(first, first + job.pick(1, 6, 40))
    rows = []
    for setting, seed in job.track([(s, seed) for s in settings for seed in seeds], "streams"):
        rows += job.cell(
            [setting.name, seed], lambda s=setting, seed=seed: one_stream(s, seed, checks)
        )
    cells = means(rows)
    rounds = job.pick(3, 200, 200)
    bounds = {"least": limits.least_of_ours(rounds), "ends": limits.both_ends(rounds)}
    trade = limits.trade_off()
    frontier = limits.frontier(job.scale == "tiny")
    for line in (told := describe(trade, frontier)):
        job.say(line)
    job.picture(draw(cells, checks))
    claims = judge(cells, bounds)
    failed = [c.claim for c in claims if not c.holds]
    return job.finish(
        f"{len(claims) - len(failed)} of {len(claims)} goals hold"
        + (f"; not: {', '.join(failed)}." if failed else "."),
        rows, claims, notes=[*NOTES, f"{len(seeds)} seeds.", *told],
        cells=[{"setting": k[0], "method": k[1], "blocks": k[2], "mean": v[0], "error": v[1]}
               for k, v in cells.items()],
        trade_off=trade, bounds=bounds, frontier=frontier,
    )  # fmt: skip
