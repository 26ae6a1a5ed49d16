"""Local tools, one folder a category as users enable it."""
