"""Recommendations: a public model of the items, and private predictions for each user."""
