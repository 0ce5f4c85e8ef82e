"""The table "attacks tried, held": everything in it was run by the command that printed it."""
