"""Measures what hilt costs, beside its peers and its limits, in one run: `python -m bench`."""
