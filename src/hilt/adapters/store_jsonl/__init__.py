"""Sessions, events and audit as JSON lines in one directory: for one host, readable by eye."""

from hilt.adapters.store_jsonl.store import JsonlStore

__all__ = ["JsonlStore"]
