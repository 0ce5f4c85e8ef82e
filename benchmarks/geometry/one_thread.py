"""Import before numpy: one BLAS thread, so that times compare algorithms and not schedulers."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
