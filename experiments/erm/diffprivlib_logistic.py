"""diffprivlib's logistic regression: run inside an environment that holds it, prints JSON.

``python diffprivlib_logistic.py logistic SETTINGS``; it imports nothing of ours.
"""

import json
import sys
import time
import warnings


def logistic(file, epsilons, strengths, seed):
    """Coefficients and CPU seconds for each epsilon and C, on rows inside the unit ball."""
    import numpy as np
    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")  # on convergence: more iterations are allowed than usual
    with np.load(file) as table:
        rows, signs = table["rows"], table["signs"]
    found = []
    for epsilon in epsilons:
        for strength in strengths:
            model = LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=strength, fit_intercept=False, max_iter=200,
                random_state=seed,
            )  # fmt: skip
            start = time.process_time()
            model.fit(rows, signs)
            cpu = time.process_time() - start
            theta = model.coef_[0].tolist()
            found.append({"epsilon": epsilon, "C": strength, "cpu": cpu, "theta": theta})
    return found


if __name__ == "__main__":
    print(json.dumps({"logistic": logistic}[sys.argv[1]](**json.loads(sys.argv[2]))))
