"""Final answers of child agents that must be JSON of a schema: how they are asked for, read, and sent back."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hilt.core.child import CORRECTIONS_MAX
from hilt.core.errors import InvalidSpecError, ToolError
from hilt.core.schema import check_schema, output_violations

_FENCED: Final = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonAnswer:
    """A final text: its JSON, and what of it does not fit the schema."""

    text: str
    violations: Sequence[str] = ()


def checked_schema(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the schema of an answer if it is one; any kind of value may be its root.

    Raises:
        ToolError: It is no JSON Schema; names the place.
    """
    try:
        check_schema("output_schema", {"type": "object", "properties": {"answer": dict(schema)}})
    except InvalidSpecError as exc:
        raise ToolError.invalid_arguments(f"output_schema: {exc}") from None
    return schema


def instruction(schema: Mapping[str, object]) -> str:
    """Return what a child's system prompt says of its last answer."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"Your last answer must be one JSON value, and nothing else, that fits this JSON Schema:\n{text}"


def json_answer(text: str, schema: Mapping[str, object]) -> JsonAnswer:
    """Return what a final text gives; a fence of Markdown around it is taken off."""
    bare = text.strip()
    fenced = _FENCED.match(bare)
    if fenced is not None:
        bare = fenced[1].strip()
    try:
        value: object = json.loads(bare, parse_constant=_no_json)
    except (ValueError, RecursionError) as exc:
        return JsonAnswer(text=bare, violations=(f"it is not JSON: {exc}",))
    return JsonAnswer(text=bare, violations=output_violations(schema, value))


def _no_json(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def corrections(schema: Mapping[str, object]) -> Callable[[str], str]:
    """Return what decides on each final text of one run: "" lets it pass, as after two corrections any does."""
    left = CORRECTIONS_MAX

    def correct(text: str) -> str:
        nonlocal left
        violations = json_answer(text, schema).violations if left else ()
        if not violations:
            return ""
        left -= 1
        return "\n".join(("Your answer does not fit the JSON Schema that it must have:", *violations, "Answer again."))

    return correct
