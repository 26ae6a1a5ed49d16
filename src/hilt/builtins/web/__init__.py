"""The web: one document by its address, and a search."""
