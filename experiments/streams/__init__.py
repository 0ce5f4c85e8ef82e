"""Private streams: seven settings, beside independent noise and a matrix mechanism."""
