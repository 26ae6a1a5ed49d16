"""Exports of the shop. It is unsafe on purpose: the example's reviewers find out where."""

from pathlib import Path


def read_export(name: str) -> str:
    """Return the text of the export that a customer names."""
    return Path("exports", name).read_text()
