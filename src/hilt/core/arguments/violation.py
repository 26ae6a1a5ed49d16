"""What a model reads when its arguments break a schema: where, what was expected, what came, an example."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from hilt.core.arguments.example import NO_EXAMPLE, Examples
from hilt.core.arguments.place import SHOWN_MAX_CHARS, Path, cut, locate, path_text, shown
from hilt.core.arguments.reference import resolve
from hilt.core.frozen import frozen

VIOLATIONS_MAX: Final = 5

_EXPECTED_MAX_CHARS: Final = 300
_BRANCH_LEVELS_MAX: Final = 4
_ALTERNATIVES_MAX: Final = 20
_PARTS_SEARCHED_MAX: Final = 100


@frozen
class Violation:
    """One place where a value breaks its schema, as the validator found it.

    `keyword` is the broken keyword and `details` its own fields; `path` leads to the value `came`, and
    `schema_path` to the keyword, from the root of the schema.
    """

    keyword: str
    path: Path
    schema_path: Path
    came: object
    details: Mapping[str, object] = field(default_factory=dict)
    message: str = ""


def describe(violations: Sequence[Violation], schema: object, examples: Examples) -> str:
    """Return the text for the model: up to five faults, and how many more there are."""
    writer = _Writer(schema, examples)
    lines = [line for violation in violations for line in writer.lines(violation)]
    if len(lines) == 1:
        return lines[0]
    told = [f"({number}) {line}" for number, line in enumerate(lines[:VIOLATIONS_MAX], start=1)]
    more = len(lines) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")


_LIMITS: Final[Mapping[str, str]] = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
    "maxProperties": "at most {} keys",
    "multipleOf": "a multiple of {}",
    "pattern": "text that matches the pattern {}",
    "format": "text of the format {}",
}
_TYPES: Final[Mapping[str, str]] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class _Writer:
    """Writes the violations of one schema."""

    __slots__ = ("_examples", "_schema")

    def __init__(self, schema: object, examples: Examples) -> None:
        self._schema = schema
        self._examples = examples

    def lines(self, violation: Violation) -> list[str]:
        """Return one line for a violation, and for unknown keys one for each key."""
        holder = locate(self._schema, violation.schema_path[:-1])
        match violation.keyword:
            case "additionalProperties" | "unevaluatedProperties":
                return self._unknown_keys(violation, holder)
            case "required":
                return [self._missing(violation, holder)]
            case _:
                expected = self._expected(violation, holder)
                example = "" if violation.keyword == "falseSchema" else self._example(holder)
                return [f"{path_text(violation.path)}: expected {expected}, got {shown(violation.came)}{example}"]

    def _missing(self, violation: Violation, holder: object) -> str:
        name = str(violation.details.get("property", ""))
        properties = holder.get("properties") if isinstance(holder, dict) else None
        wanted = properties.get(name) if isinstance(properties, dict) else None
        where = path_text((*violation.path, name))
        return f"{where}: required, expected {self._wanted(wanted)}, got nothing{self._example(wanted)}"

    def _unknown_keys(self, violation: Violation, holder: object) -> list[str]:
        unexpected = violation.details.get("unexpected")
        names = [str(name) for name in unexpected] if isinstance(unexpected, list) else []
        known = self._known_keys(holder)
        came = violation.came if isinstance(violation.came, dict) else {}
        return [
            f"{path_text((*violation.path, name))}: unknown key, expected {_nearest(name, known)}, "
            f"got {shown(came.get(name))}"
            for name in names
        ]

    def _known_keys(self, holder: object) -> list[str]:
        """Return the property names of a schema and of the parts that it is made of, in order."""
        found: dict[str, None] = {}
        waiting = [holder]
        for _ in range(_PARTS_SEARCHED_MAX):
            node = waiting.pop(0) if waiting else None
            if not isinstance(node, dict):
                continue
            properties = node.get("properties")
            found.update(dict.fromkeys(properties if isinstance(properties, dict) else ()))
            for keyword in ("allOf", "anyOf", "oneOf"):
                branches = node.get(keyword)
                waiting += branches if isinstance(branches, list) else []
            if "$ref" in node:
                waiting.append(resolve(node, self._schema))
        return list(found)

    def _expected(self, violation: Violation, holder: object) -> str:
        keyword = violation.keyword
        if keyword in _LIMITS and violation.details:
            limit = next(iter(violation.details.values()))
            return cut(_LIMITS[keyword].format(limit), _EXPECTED_MAX_CHARS)
        if keyword in ("type", "enum", "const", "anyOf", "oneOf") and isinstance(holder, dict):
            text = self._wanted({keyword: holder.get(keyword)})
            twice = "more than one" in violation.message
            return f"exactly one of these to fit: {text}" if twice else text
        if keyword == "falseSchema":
            return "nothing here"
        return cut(f"{keyword} to hold ({violation.message})", _EXPECTED_MAX_CHARS)

    def _wanted(self, node: object, level: int = 0) -> str:
        """Return in words what a schema wants, as far as one line can tell."""
        node = resolve(node, self._schema)
        if not isinstance(node, dict):
            return "a value"
        if "const" in node:
            return shown(node["const"])
        choices = node.get("enum")
        if isinstance(choices, list):
            listed = ", ".join(shown(choice) for choice in choices[:_ALTERNATIVES_MAX])
            return cut(f"one of {listed}", _EXPECTED_MAX_CHARS)
        branches = node.get("anyOf") or node.get("oneOf")
        if isinstance(branches, list) and level < _BRANCH_LEVELS_MAX:
            texts = [self._wanted(branch, level + 1) for branch in branches[:_ALTERNATIVES_MAX]]
            return cut(" or ".join(dict.fromkeys(texts)), _EXPECTED_MAX_CHARS)
        kinds = node.get("type")
        names = kinds if isinstance(kinds, list) else [kinds]
        return " or ".join(_TYPES.get(str(name), "a value") for name in names)

    def _example(self, node: object) -> str:
        example = self._examples.of(node)
        return "" if example is NO_EXAMPLE else f", for example {shown(example)}"


def _nearest(name: str, known: Sequence[str]) -> str:
    if not known:
        return "no keys at all"
    near = difflib.get_close_matches(name[:SHOWN_MAX_CHARS], known, n=1, cutoff=0.0)
    return f"a known one like {shown(near[0] if near else known[0])}"
