"""Questions about rows and their targets: slopes, moments, ranges, gains."""
