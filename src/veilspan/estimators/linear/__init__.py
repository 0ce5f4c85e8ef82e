"""Linear models: classification and regression."""
