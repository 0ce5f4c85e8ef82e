"""What users type, as values: options that commands share, and an estimator from its words."""
