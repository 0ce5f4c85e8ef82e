"""``veilspan demo``: the command, the methods that it compares, and its picture."""
