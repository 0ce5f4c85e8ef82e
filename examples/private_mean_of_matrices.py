"""The private mean of covariance matrices, and a classifier on the tangent space there."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from veilspan import Ball, FrechetMean
from veilspan.datasets import make_spd
from veilspan.geometry import SPD

# Two groups of people, one 4 x 4 covariance matrix each, generated around two centres.
groups = [make_spd(3000, 4, spread=0.6, condition=4, random_state=seed) for seed in (0, 1)]
matrices = np.concatenate([group.points for group in groups])
labels = np.repeat([0, 1], 3000)
train, test, y_train, y_test = train_test_split(matrices, labels, random_state=0)

# Known before looking: all eigenvalues lie between 0.02 and 50. The ball holds such matrices.
ball = Ball.from_eigenvalues(SPD(4), 0.02, 50.0)
mean = FrechetMean(SPD(4), epsilon=1.0, delta=1e-6, ball=ball).fit(train)
exact = FrechetMean(SPD(4), epsilon=np.inf).fit(train)

print(mean.privacy_)
off = SPD(4).dist(mean.mean_, exact.mean_)
apart = SPD(4).dist(groups[0].center, groups[1].center)
print(f"\nprivate mean: {off:.3f} from the exact one; the groups' centres are {apart:.2f} apart")

# At the mean, matrices become vectors with (nearly) the same distances; any method can go on.
classifier = LogisticRegression(max_iter=1000).fit(mean.transform(train), y_train)
print(f"accuracy on new matrices: {classifier.score(mean.transform(test), y_test):.3f}")
print("The mean is private. The classifier is not: it saw the coordinates of every row.")
