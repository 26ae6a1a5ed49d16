"""Cuts a docstring into what a tool's description says and what its parameters mean."""

import inspect
import re
from dataclasses import dataclass, field
from typing import Final

_HEAD: Final = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_ENTRY: Final = re.compile(r"(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring without its `Args:` section, and that section by parameter."""

    text: str
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(doc: str | None) -> Docstring:
    """Return the parts of a docstring in Google style; all empty without one.

    The text of a parameter is one line, however it was broken. Other sections stay in the text.
    """
    if not doc:
        return Docstring("")
    lines = inspect.cleandoc(doc).splitlines()
    head = next((number for number, line in enumerate(lines) if _HEAD.fullmatch(line)), None)
    if head is None:
        return Docstring("\n".join(lines).strip())
    end = next((n for n in range(head + 1, len(lines)) if lines[n] and not lines[n][0].isspace()), len(lines))
    rest = [*lines[:head], *lines[end:]]
    return Docstring("\n".join(rest).strip(), _entries(lines[head + 1 : end]))


def _entries(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name, margin = "", None
    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        entry = _ENTRY.fullmatch(line.strip()) if indent <= margin else None
        if entry is not None:
            name = entry[1]
            found[name] = entry[2]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
