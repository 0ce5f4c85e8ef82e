"""How to get from noisy answers to a result. Nothing in here knows of rows."""
