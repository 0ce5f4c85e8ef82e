"""A search among candidates, paid for: which ones, what a trial asks, what all of it costs."""
