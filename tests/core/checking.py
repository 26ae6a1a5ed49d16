"""Arguments held against a schema, in one line a test."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from hilt.core.errors import ErrorCode, ToolError
from hilt.core.schema import ArgumentCheck, Checked

Schema = Mapping[str, object]

_INPUTS = Path(__file__).parents[1] / "bugs" / "inputs"


def check_of(schema: Schema, *, strict_keys: bool = False) -> ArgumentCheck:
    """Return the check of a schema."""
    return ArgumentCheck.of("t", json.dumps(schema), strict_keys=strict_keys)


def props(**properties: object) -> dict[str, object]:
    """Return the schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def checked(schema: Schema, **arguments: object) -> Checked:
    """Return what the check gives for arguments that fit."""
    return check_of(schema).check(arguments)


def refusal_of(schema: Schema, arguments: dict[str, object], *, strict_keys: bool = False) -> str:
    """Return the reason why arguments are refused."""
    with pytest.raises(ToolError) as refusal:
        check_of(schema, strict_keys=strict_keys).check(arguments)
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENTS
    return refusal.value.reason


def served(file: str, name: str) -> dict[str, object]:
    """Return a schema of the public bug cases."""
    tools = json.loads((_INPUTS / file).read_text(encoding="utf-8"))
    found: dict[str, object] = next(tool["inputSchema"] for tool in tools if tool["name"] == name)
    return found
