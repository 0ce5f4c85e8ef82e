"""``veilspan studio``: the web application and what belongs to it."""
