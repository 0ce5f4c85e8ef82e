"""From noisy answers to a subspace that most rows lie near."""
