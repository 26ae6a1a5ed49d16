"""The category `shell`: run commands."""
