"""Property keys that a provider takes, and the way back from them."""

import re
from collections.abc import Mapping

from hilt.core.dialect import digest
from hilt.core.dialect_table import PROPERTY_KEY

_UNFIT = re.compile(r"[^A-Za-z0-9_.-]")
_HEAD = 55


def wire_key(key: str) -> str:
    """Return the key itself if it fits, else one that fits and ends with a digest of it."""
    if PROPERTY_KEY.fullmatch(key):
        return key
    return f"{_UNFIT.sub('_', key)[:_HEAD]}_{digest(key)}"


def turned_back(value: object, keys: Mapping[str, str]) -> object:
    """Return arguments with their canonical keys; `keys` is from sent to canonical ones."""
    if isinstance(value, dict):
        return {keys.get(key, key): turned_back(one, keys) for key, one in value.items()}
    if isinstance(value, list):
        return [turned_back(one, keys) for one in value]
    return value
