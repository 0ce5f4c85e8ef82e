"""PCA where nobody knows in advance where rows lie and how long they are."""
