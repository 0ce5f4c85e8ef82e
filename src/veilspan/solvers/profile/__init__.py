"""From noisy counts and moments to shares, quantiles, means and correlations with error bars."""
