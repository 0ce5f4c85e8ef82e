"""From noisy answers about ratings to the part of a recommender that may be published."""
