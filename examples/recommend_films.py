"""Films for one person: a published model, and predictions that never leave her phone."""

import numpy as np

from veilspan import LocalPredictor, MatrixCompletion
from veilspan.datasets import make_ratings
from veilspan.metrics.ranking import rmse

data = make_ratings(8000, 60, n_components=2, ratings_per_user=25)  # simulated users
films = [f"film {j:02d}" for j in range(60)]

# The server: sees all ratings, publishes the private half.
entries = data.train.tocoo()
model = MatrixCompletion(rating_range=(1, 5), max_ratings_per_user=25, epsilon=1.0, delta=1e-6)
model.fit_triples(entries.row, [films[j] for j in entries.col], entries.data, items=films)
model.local_predictor().save("films.npz")
print(model.privacy_)

# The phone: has the file and its owner's ratings, asks nobody.
phone = LocalPredictor.load("films.npz")
mine = {films[j]: float(np.rint(data.truth[0, j])) for j in range(0, 60, 3)}
print("for you:", phone.recommend(mine, k=5))

middle = np.full(data.truth.shape, 3.0)
print("held-out RMSE:", round(-model.score(data.train, data.test), 3))
print("without a model:", round(rmse(middle, data.test), 3))
