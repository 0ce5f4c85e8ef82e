"""What is minimised: losses of a row and penalties, with the constants that proofs use."""
