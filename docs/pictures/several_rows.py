"""What max_rows does: rows that are used, and the error of a released mean."""

from typing import Any

import numpy as np

from veilspan import PCA, Schema
from veilspan.datasets import make_visits
from veilspan.tables.persons.trade_off import noise_factor, share_used

MOST = (1, 2, 4, 8, 16, 32)
VISITS = 3
SEEDS = range(5)


def draw(style: Any) -> Any:
    """Two panels: what a plan says of somebody with three visits, and what comes out."""
    figure, ((left, right),) = style.panels(1, 2, width=3.8, height=3.4)
    used = [share_used(VISITS, k) for k in MOST]
    left.plot(MOST, used, **style.BASELINE.line(), label="share of the rows used")
    for k, combine in enumerate(("mean", "none")):
        noise = [noise_factor(VISITS, most, combine) for most in MOST]
        left.plot(MOST, noise, marker=style.MARKERS[k], linestyle=style.LINES[k],
                  color=style.CYCLE[k], label=f"noise, combine = {combine}")  # fmt: skip
    left.set(xscale="log", yscale="log", xlabel="max_rows", xticks=MOST, xticklabels=MOST,
             title="Somebody with 3 visits")  # fmt: skip
    left.minorticks_off()
    left.legend(loc="upper left")
    data = make_visits(4000)
    for k, combine in enumerate(("mean", "none")):
        errors = [median_error(data, most, combine) for most in MOST]
        right.plot(MOST, errors, marker=style.MARKERS[k], linestyle=style.LINES[k],
                   color=style.CYCLE[k], label=f"combine = {combine}")  # fmt: skip
    right.set(xscale="log", yscale="log", xlabel="max_rows", xticks=MOST, xticklabels=MOST,
              ylabel="error of the mean row",
              title="4,000 patients, 2.7 visits each, ε = 1")  # fmt: skip
    right.minorticks_off()
    right.legend(loc="upper left")
    return figure


def median_error(data: Any, most: int, combine: str) -> float:
    """Return the median distance of a released mean to that of all rows or people."""
    text = data.schema_toml.replace("max_rows  = 8", f"max_rows  = {most}")
    if combine == "none":
        text = text.replace('"mean"', '"none"').replace('combine    = "any"\n', "")
    schema = Schema.from_toml(text)
    names = np.array(data.columns["patient_id"])
    rows = schema.encode(data.columns).x[~np.isin(names, ["", "NA"])]
    truth = rows.mean(axis=0)
    if combine == "mean":
        _, who = np.unique(names[~np.isin(names, ["", "NA"])], return_inverse=True)
        sums = np.zeros((who.max() + 1, rows.shape[1]))
        np.add.at(sums, who, rows)
        truth = (sums / np.bincount(who)[:, None]).mean(axis=0)
    found = []
    for seed in SEEDS:
        fit = PCA(2, epsilon=1.0, schema=schema, random_state=seed).fit(data.columns)
        found.append(float(np.linalg.norm(fit.mean_ - truth)))
    return float(np.median(found))
