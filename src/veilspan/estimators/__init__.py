"""The scikit-learn face: thin classes over plan, charge, run, record (``base``)."""
