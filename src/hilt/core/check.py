"""The door to `core.schema`: a tool whose schema asks for nothing loads no validator."""

import json
from collections.abc import Mapping
from typing import Final, Protocol

from hilt.core.arguments.checked import Checked

_ANY_OBJECT: Final[Mapping[str, object]] = {"type": "object", "properties": {}}


class Check(Protocol):
    """Holds the arguments of one tool against its schema; `warnings` says what of the schema cannot be asked."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Told once, when the check is made."""
        ...

    def check(self, arguments: dict[str, object]) -> Checked:
        """Return arguments that fit the schema: the given object itself where it does.

        Raises:
            ToolError: `invalid_arguments`, with up to five violations.
        """
        ...


class _OpenCheck:
    """The check of a schema that asks for nothing."""

    warnings: tuple[str, ...] = ()

    def check(self, arguments: dict[str, object]) -> Checked:
        return Checked(arguments)


def check_of(name: str, schema_json: str, *, strict_keys: bool) -> Check:
    """Return the check of a tool's schema.

    With `strict_keys` a key that the root of the schema does not know is a violation, also where the
    schema does not say so.
    """
    if not strict_keys and json.loads(schema_json) == _ANY_OBJECT:
        return _OpenCheck()
    from hilt.core.schema import ArgumentCheck

    return ArgumentCheck.of(name, schema_json, strict_keys=strict_keys)


def check_schema(name: str, schema: Mapping[str, object]) -> None:
    """Check that a tool's schema is one: JSON, legal in its dialect, and able to describe an object.

    Raises:
        InvalidSpecError: It is not; the message has the path of the fault.
    """
    if schema != _ANY_OBJECT:
        from hilt.core.schema import check_schema as check_whole

        check_whole(name, schema)
