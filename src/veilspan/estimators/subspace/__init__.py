"""Principal components, plain and robust."""
