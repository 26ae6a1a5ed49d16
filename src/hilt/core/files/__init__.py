"""Files as text: their paths, patterns, lines and edits, without a look at a disk."""
