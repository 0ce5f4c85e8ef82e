"""Who answers yes? A logistic regression that may be published, from answers that may not."""

import numpy as np

from veilspan import LogisticRegression

# A questionnaire: its ranges are printed on the form, nobody needs the answers to know them.
low, high = np.array([18, 0, 1, 0]), np.array([90, 60, 5, 1])
names = ["age", "hours at work", "satisfaction", "lives alone"]

rng = np.random.default_rng(0)  # simulated people
answers = rng.uniform(low, high, (12_000, 4)).round()
leaning = (answers - (low + high) / 2) / (high - low) @ [3.0, 1.0, -2.0, 0.0]
says_yes = np.where(leaning > rng.logistic(size=len(answers)) / 2, "yes", "no")
train, test = slice(0, 10_000), slice(10_000, None)

model = LogisticRegression(
    feature_range=(low, high), classes=["no", "yes"], epsilon=1.0, delta=1e-6
)
print(model.plan(10_000, 4))
model.fit(answers[train], says_yes[train])

for name, coefficient in zip(names, model.coef_[0], strict=True):
    print(f"{name:>14}: {coefficient:+.3f} per unit")
print("accuracy on others:", round(model.score(answers[test], says_yes[test]), 3))

without = LogisticRegression(feature_range=(low, high), classes=["no", "yes"], epsilon=np.inf).fit(
    answers[train], says_yes[train]
)
print("without privacy:   ", round(without.score(answers[test], says_yes[test]), 3))
print(model.privacy_)
