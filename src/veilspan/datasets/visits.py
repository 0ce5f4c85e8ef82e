"""A made-up table of hospital visits: one row a visit, one patient with several of them.

Nobody real. What is public of it, whose row it is above all, stands in a schema.
"""

from __future__ import annotations

import numpy as np

from veilspan.datasets.ward import FIRST, LAST, NOTES, SCHEMA, WARDS, Ward, spoil_cells

#: Share of visits whose patient nobody wrote down.
WITHOUT_ID = 0.01
_UNIT = """\
[unit]
protects  = "patient"
id        = "patient_id"
max_rows  = 8
keep      = "random"
combine   = "mean"
neighbors = "replace-one"
count     = {count}
source    = "Annual report 2025, page 12"
"""
_HEAD, _, _REST = SCHEMA.partition("[unit]\n")
_SCHEMA = (
    (_HEAD + _UNIT + "\n[file]\n" + _REST.partition("[file]\n")[2])
    .replace('name    = "ward"', 'name    = "ward-visits"')
    .replace("One line a patient", "One line a visit")
    .replace('[columns.patient_id]\nrole = "ignore"', '[columns.patient_id]\nrole = "id"')
    .replace('["no", "yes"]\n', '["no", "yes"]\ncombine    = "any"\n')
)


def make_visits(
    n_patients: int = 2000, *, mean_rows: float = 2.7, random_state: int | None = 0
) -> Ward:
    """Draw patients and their visits; who is older, ill or smokes comes back, and comes more often.

    Parameters
    ----------
    n_patients : int
        People; each has one visit or more.
    mean_rows : float
        Visits of a patient on average, at least 1. A few have dozens.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> from veilspan import LogisticRegression
    >>> from veilspan.datasets import make_visits
    >>> visits = make_visits(1000)
    >>> model = LogisticRegression(epsilon=1.0, schema=visits.schema).fit(visits.columns)
    >>> len(model.predict(visits.columns, by_person=True)) <= 1000
    True
    """
    if not mean_rows >= 1:
        raise ValueError(
            f"mean_rows is at least 1, since every patient has a visit; got {mean_rows}."
        )
    rng = np.random.default_rng(random_state)
    age = np.clip(rng.normal(58, 18, n_patients), 0, 100)
    illness = rng.normal(0, 0.35, n_patients) + 0.004 * (age - 58)
    smokes = rng.random(n_patients) < 0.28
    frailty = 0.045 * (age - 58) + 1.1 * illness + 0.9 * smokes
    # A gamma rate makes the long tail that real visits have.
    rate = (mean_rows - 1) * rng.gamma(0.8, 1 / 0.8, n_patients)
    who = np.repeat(np.arange(n_patients), 1 + rng.poisson(rate))
    rng.shuffle(who)
    n = len(who)
    days = rng.integers(int((LAST - FIRST).astype(int)) + 1, size=n)
    ward = rng.choice(WARDS, n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    back = rng.logistic(size=n) < frailty[who] + 0.6 * (ward == "D") - 1.4
    numbers = rng.permutation(10 * n_patients)[:n_patients]
    sexes = rng.choice(["female", "male", "diverse"], n_patients, p=[0.51, 0.485, 0.005])
    creatinine = np.exp(4.4 + illness[who] + rng.normal(0, 0.2, n)).round(1)
    cells = {
        "patient_id": [f"P{number:06d}" for number in numbers[who]],
        "age": [str(a) for a in np.floor(age[who] + days / 365).astype(int)],
        "creatinine": list(map(str, creatinine)),
        "sex": sexes[who].tolist(),
        "ward": ward.tolist(),
        "smoker": np.where(smokes[who], "yes", "no").tolist(),
        "admitted": list(map(str, FIRST + days)),
        "readmitted": np.where(back, "yes", "no").tolist(),
        "note": rng.choice(NOTES, n).tolist(),
    }
    spoil_cells(cells, rng)
    for place in np.flatnonzero(rng.random(n) < WITHOUT_ID):
        cells["patient_id"][place] = str(rng.choice(["", "NA"]))
    return Ward(tuple(cells), tuple(cells.values()), _SCHEMA.format(count=n_patients))
