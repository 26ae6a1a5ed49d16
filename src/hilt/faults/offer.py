"""What the honest server offers: a tool of each kind, two resources and one prompt."""

from collections.abc import Mapping
from typing import Final

from hilt.faults.protocol import Json

NAME: Final = "fault-kit"
VERSION: Final = "1"


def tool(name: str, description: str, properties: Mapping[str, object] | None = None, **annotations: bool) -> Json:
    """Return a tool's definition; `read_only=True` becomes the annotation `readOnlyHint`."""
    hints = {"read_only": "readOnlyHint", "idempotent": "idempotentHint", "destructive": "destructiveHint"}
    found: Json = {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": dict(properties or {})},
    }
    if annotations:
        found["annotations"] = {hints[key]: value for key, value in annotations.items()}
    return found


_TEXT: Final[Json] = {"text": {"type": "string"}}

TOOLS: Final[tuple[Json, ...]] = (
    tool("echo", "Returns the text it is given. Says nothing of its effects.", _TEXT),
    tool("add_note", "Adds a note. Twice is not the same as once.", _TEXT, read_only=False, destructive=False),
    tool("look", "Returns how many notes there are.", read_only=True),
    tool("idem", "Sets the title. Twice is the same as once.", _TEXT, read_only=False, idempotent=True),
    tool("slow", "Returns after some seconds.", {"seconds": {"type": "number"}}, read_only=True),
)

RESOURCES: Final[tuple[Json, ...]] = (
    {"uri": "kit://notes", "name": "notes", "description": "The notes.", "mimeType": "text/plain"},
    {"uri": "kit://readme", "name": "readme", "mimeType": "text/markdown"},
)

TEXTS: Final[Mapping[str, str]] = {"kit://notes": "No notes.", "kit://readme": "# The fault kit"}

PROMPTS: Final[tuple[Json, ...]] = (
    {
        "name": "greet",
        "description": "Greets somebody.",
        "arguments": [{"name": "who", "description": "Whom to greet.", "required": True}],
    },
)


def capabilities() -> Json:
    """Return what the server says that it can do."""
    changes: Json = {"listChanged": True}
    return {"tools": dict(changes), "resources": dict(changes), "prompts": dict(changes), "logging": {}}
