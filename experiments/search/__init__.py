"""When a private search pays against the default rules."""
