"""jq in worker processes of its own."""
