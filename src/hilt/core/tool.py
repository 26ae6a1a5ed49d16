"""The three values of a call: what a tool is, what the model asks of it, what comes back."""

import json
from collections.abc import Mapping, Sequence
from typing import Self, TypeVar

from hilt.core.args import decode_as
from hilt.core.arguments.decoding import decode_arguments
from hilt.core.check import check_schema
from hilt.core.content import Part, part_to_json
from hilt.core.errors import InvalidSpecError
from hilt.core.frozen import frozen

T = TypeVar("T")

NAME_MAX_BYTES = 256
EMPTY_SCHEMA: Mapping[str, object] = {"type": "object", "properties": {}}

# One encoder for all: making one costs more than encoding a small value.
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical_json(value: object) -> str:
    """Return JSON text with sorted keys and no optional white space: the same bytes in every process."""
    return _CANONICAL.encode(value)


@frozen(kw_only=False)
class ToolSpec:
    """What the model sees of a tool.

    `description` says when to use it, when not, and its limits. The schema is kept as canonical JSON text;
    `schema` (or `input_schema`) gives a fresh copy, so that nobody can change a spec.
    """

    name: str
    description: str
    schema_json: str

    def __init__(
        self,
        name: str,
        description: str = "",
        schema: Mapping[str, object] | None = None,
        *,
        input_schema: Mapping[str, object] | None = None,
    ) -> None:
        """Check name and schema.

        Raises:
            InvalidSpecError: The name breaks a rule, or the schema is not JSON Schema 2020-12 with an object
                root; the message names rule or path.
        """
        chosen = schema if schema is not None else input_schema
        if chosen is not None and not isinstance(chosen, Mapping):
            raise InvalidSpecError("a schema is a JSON object", key=name)
        object.__setattr__(self, "name", _checked_name(name))
        object.__setattr__(self, "description", description)
        body = dict(chosen) if chosen else dict(EMPTY_SCHEMA)
        if chosen:
            check_schema(name, body)
        object.__setattr__(self, "schema_json", canonical_json(body))

    def renamed(self, name: str) -> "ToolSpec":
        """Return the same spec under another name, which is not checked again."""
        return self.fitted(name, self.description, self.schema_json)

    def fitted(self, name: str, description: str, schema_json: str) -> "ToolSpec":
        """Return a spec of these texts, which are not checked: what a provider is sent in this one's place."""
        other = object.__new__(ToolSpec)
        object.__setattr__(other, "name", name)
        object.__setattr__(other, "description", description)
        object.__setattr__(other, "schema_json", schema_json)
        return other

    @property
    def schema(self) -> dict[str, object]:
        """The JSON Schema of the arguments, a copy of its own each time."""
        value: dict[str, object] = json.loads(self.schema_json)
        return value

    @property
    def input_schema(self) -> dict[str, object]:
        """Second spelling of `schema`."""
        return self.schema

    def to_json(self) -> str:
        """Return the spec as JSON text, the same bytes in every process."""
        return canonical_json(
            {"name": self.name, "description": self.description, "schema": json.loads(self.schema_json)}
        )


def _checked_name(name: str) -> str:
    if not 1 <= len(name.encode("utf-8", "surrogatepass")) <= NAME_MAX_BYTES:
        raise InvalidSpecError(f"a name has 1 to {NAME_MAX_BYTES} bytes", key=name[:80] or "''")
    if name != name.strip():
        raise InvalidSpecError("a name has no white space at its ends", key=repr(name))
    if any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in name):
        raise InvalidSpecError("a name has no control character", key=repr(name))
    return name


class ToolCall:
    """One request from the model: `id`, `name` and `args`, raw JSON text that is not yet validated.

    The value is immutable; the decoded arguments are kept beside the text, so that it is read at most once.
    """

    __slots__ = ("_arguments", "args", "id", "name")

    id: str
    name: str
    args: str
    _arguments: dict[str, object] | None

    def __init__(self, id: str, name: str, args: str = "{}", *, arguments: dict[str, object] | None = None) -> None:
        set_ = object.__setattr__
        set_(self, "id", id)
        set_(self, "name", name)
        set_(self, "args", args)
        set_(self, "_arguments", arguments)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a ToolCall is immutable: {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a ToolCall is immutable: {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return (self.id, self.name, self.args) == (other.id, other.name, other.args)

    def __hash__(self) -> int:
        return hash((self.id, self.name, self.args))

    def __repr__(self) -> str:
        return f"ToolCall(id={self.id!r}, name={self.name!r}, args={self.args!r})"

    @property
    def arguments(self) -> dict[str, object]:
        """The decoded arguments, shared by every reader; treat them as read-only.

        Raises:
            ToolError: `invalid_arguments`, when the text is no JSON object.
        """
        found = self._arguments
        if found is None:
            found = decode_arguments(self.args).arguments
            object.__setattr__(self, "_arguments", found)
        return found

    def parse_args(self, as_type: type[T]) -> T:
        """Return the arguments as `as_type`: a dataclass, TypedDict or pydantic model.

        Raises:
            ToolError: `invalid_arguments`, with the path of the first fault.
        """
        return decode_as(as_type, self.arguments)

    def with_arguments(self, arguments: dict[str, object], *, args: str | None = None) -> "ToolCall":
        """Return the same call with decoded arguments; `args` None keeps the model's own text."""
        return ToolCall(self.id, self.name, self.args if args is None else args, arguments=arguments)


@frozen(kw_only=False)
class ToolResult:
    """What a call gave: text for the model, and typed parts where the tool has them."""

    call_id: str
    content: str
    is_error: bool = False
    parts: tuple[Part, ...] = ()

    @classmethod
    def text(cls, call_id: str, content: str) -> Self:
        """A plain answer."""
        return cls(call_id, content)

    @classmethod
    def success(cls, call_id: str, content: str) -> Self:
        """Second spelling of `text`."""
        return cls(call_id, content)

    @classmethod
    def error(cls, call_id: str, message: str) -> Self:
        """A failure that the model can act on."""
        return cls(call_id, message, True)

    @classmethod
    def with_parts(cls, call_id: str, content: str, parts: Sequence[Part]) -> Self:
        """An answer with typed blocks beside its text."""
        return cls(call_id, content, False, tuple(parts))

    def to_json(self) -> dict[str, object]:
        """Return the result as a JSON object; the key `parts` is absent where there are none."""
        body: dict[str, object] = {
            "call_id": self.call_id,
            "content": self.content,
            "is_error": self.is_error,
        }
        if self.parts:
            body["parts"] = [part_to_json(part) for part in self.parts]
        return body
