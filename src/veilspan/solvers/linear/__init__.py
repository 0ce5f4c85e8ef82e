"""From noisy answers to the coefficients of a linear model."""
