"""The page in front of a report that people sign: who, why, what it cost, what is left."""
