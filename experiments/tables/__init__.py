"""Table models beside their rivals: real and generated tables of ordinary columns."""
