"""From one noisy answer a block to a subspace that follows a stream."""
