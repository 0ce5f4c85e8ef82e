"""``veilspan export``: models for programs that know nothing of veilspan."""
