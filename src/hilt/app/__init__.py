"""The composition root: configuration, the list of families, the build."""
