"""InspectMemory, InspectUserMemory: show a value with its versions."""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.builtins.memory.kind import Kind, one_subject
from hilt.core.args import Args
from hilt.core.memory import Version, not_found, shown_as_data, shown_value, version_text
from hilt.core.permission import Subjects
from hilt.core.secret_text import masked
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

EARLIER_MAX_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectArgs:
    """Arguments of `InspectMemory` and `InspectUserMemory`."""

    key: Annotated[str, Field(description="The key.")]


class Inspect:
    """Returns a value, its version and its history."""

    _args = Args(InspectArgs)
    read_only = True

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.spec = ToolSpec(
            kind.inspect,
            f"Show one key of the {kind.what} as JSON: version, value and description, and the kept versions, newest "
            f"first, each with when, by whom and how it came to be. Use it before {kind.forget} or {kind.undo}, which "
            f"need the version, also of a key that was forgotten. Do not use it to read a value alone ({kind.recall}). "
            f"Limits: ten versions, of earlier values the first {EARLIER_MAX_CHARS} characters.",
            self._args.schema,
        )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the key to patterns."""
        return one_subject("key", self._args.decode(call).key)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return the key with its history, framed as data."""
        key = self._args.decode(call).key
        history = await self._kind.of(env).history(key)
        if not history:
            raise not_found(key)
        last = history[-1]
        body = {
            "key": key,
            "version": version_text(history),
            "value": None if last.value is None else shown_value(key, last.value),
            "description": masked(last.description),
            "history": [_row(key, version) for version in reversed(history)],
        }
        text = json.dumps(body, ensure_ascii=False)
        return ToolResult.text(call.id, shown_as_data(f"{key}, version {version_text(history)}", text))


def _row(key: str, version: Version) -> dict[str, object]:
    row: dict[str, object] = {
        "version": str(version.number),
        "change": version.change,
        "at": version.at,
        "session": version.session,
        "source": version.source,
    }
    if version.value is not None:
        # Masked before it is cut: a piece of a secret has no form that would be known.
        row["value"] = shown_value(key, version.value)[:EARLIER_MAX_CHARS]
    return row
