"""Questions about a block of a stream, around what is known already."""
