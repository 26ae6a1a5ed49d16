"""Definitions of child agents: a Markdown file each, front matter and a system prompt."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hilt.core.child import short
from hilt.core.errors import ConfigError
from hilt.core.front_matter import read_document
from hilt.core.yaml_document import Located

DEFINITION_MAX_BYTES: Final = 256 * 1024
LISTED_MAX: Final = 50

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_DESCRIPTION_CHARS: Final = 200
_KEYS: Final = ("description", "tools", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDefinition:
    """A kind of child agent.

    `tools` are names or globs that narrow what it sees, None for all; `model` and `system_prompt` are "" where the
    parent's hold.
    """

    name: str
    description: str
    tools: tuple[str, ...] | None = None
    model: str = ""
    system_prompt: str = ""


def valid_definition_name(name: str) -> bool:
    """Tell whether a definition can be named so: letters, digits, `-` and `_`, 64 at most."""
    return _NAME.fullmatch(name) is not None


def parse_definition(text: str, *, name: str, place: str) -> ChildDefinition:
    """Return the definition of a file.

    Raises:
        ConfigError: It has no description, a key that is unknown or of another shape, or no readable front matter;
            names place and line.
    """
    document = read_document(text, source=place, flow=True)
    values = document.values
    for key, value in values.items():
        if key not in _KEYS:
            raise ConfigError(f"unknown key {key!r}; known are {', '.join(_KEYS)}", source=place, line=value.line)
    description = _text(values, "description", place)
    if not description:
        raise ConfigError("description is missing: it says when to use the agent", source=place, line=1)
    return ChildDefinition(
        name=name,
        description=description,
        tools=_tools(values.get("tools"), place),
        model=_text(values, "model", place),
        system_prompt=document.body.strip(),
    )


def listed(definitions: Iterable[ChildDefinition]) -> str:
    """Return what a tool's description says of the definitions, "" without any."""
    found = sorted(definitions, key=lambda one: one.name)
    texts = [f"{one.name} ({short(one.description, _DESCRIPTION_CHARS)})" for one in found[:LISTED_MAX]]
    more = f" and {len(found) - LISTED_MAX} more" if len(found) > LISTED_MAX else ""
    return f" Agents that are defined here: {'; '.join(texts)}{more}." if texts else ""


def _text(values: Mapping[str, Located], key: str, place: str) -> str:
    found = values.get(key)
    if found is None:
        return ""
    if not isinstance(found.value, str):
        raise ConfigError(f"{key} is a text", source=place, line=found.line)
    return found.value.strip()


def _tools(found: Located | None, place: str) -> tuple[str, ...] | None:
    """Return the names of a list, or of a text that divides them by commas."""
    if found is None:
        return None
    value = found.value
    items = [item.value for item in value] if isinstance(value, tuple) else [value]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise ConfigError("tools is a list of names", source=place, line=found.line)
    names = texts if isinstance(value, tuple) else texts[0].split(",")
    return tuple(name.strip() for name in names if name.strip())
