"""One argument type gives both: the JSON Schema that the model sees and the decoder of what it sends."""

import functools
import json
import operator
import sys
import types
from collections.abc import Mapping
from typing import (
    Annotated,
    Generic,
    NotRequired,
    Protocol,
    Required,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from hilt.core.arguments.place import path_text, subschemas
from hilt.core.errors import ToolError

T = TypeVar("T")

_TYPES_KEPT = 1_024
_NULL: Mapping[str, object] = {"type": "null"}


class HasArguments(Protocol):
    """What holds decoded arguments: a call."""

    @property
    def arguments(self) -> Mapping[str, object]:
        """The decoded arguments."""
        ...


class Adapter(Protocol):
    """What pydantic makes of a type."""

    def validate_python(self, value: object, /) -> object:
        """Return the value as the type."""
        ...

    def json_schema(self) -> dict[str, object]:
        """Return the JSON Schema of the type."""
        ...


def decode_as(as_type: type[T], arguments: Mapping[str, object]) -> T:
    """Return the arguments as `as_type`: a dataclass, TypedDict or pydantic model.

    Raises:
        ToolError: `invalid_arguments`, with the path of the first fault.
    """
    hashable: object = as_type
    return cast("T", decoded(_adapter(hashable), arguments))


class Args(Generic[T]):
    """The arguments of one tool, from one type.

    The type is read at the first use of `schema` or `decode`. A field may have its description as a plain
    string in `Annotated` instead of in a `Field`.
    """

    __slots__ = ("_of", "_schema_json")

    def __init__(self, of: type[T]) -> None:
        self._of = of
        self._schema_json = ""

    @property
    def schema(self) -> dict[str, object]:
        """The JSON Schema, a copy of its own each time.

        No further keys, defaults included, no generated titles. A field `X | None = None` is an optional `X`:
        its absence says what null would.
        """
        if not self._schema_json:
            hashable: object = self._of
            body = without_titles(_adapter(hashable).json_schema())
            body.pop("description", None)
            body["additionalProperties"] = False
            describe_properties(body, get_type_hints(self._of, include_extras=True))
            _inline(body)
            _make_optional(body)
            self._schema_json = json.dumps(body)
        value: dict[str, object] = json.loads(self._schema_json)
        return value

    def decode(self, call: HasArguments) -> T:
        """Return the arguments of a call.

        Raises:
            ToolError: `invalid_arguments`, with the path of the first fault.
        """
        return decode_as(self._of, call.arguments)


def decoded(adapter: Adapter, arguments: Mapping[str, object]) -> object:
    """Return the arguments as the adapter's type.

    Raises:
        ToolError: `invalid_arguments`, with the path of the first fault.
    """
    from pydantic import ValidationError

    try:
        return adapter.validate_python(arguments)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_context=False)[0]
        raise ToolError.invalid_arguments(f"{path_text(first['loc'])}: {first['msg']}") from None


@functools.lru_cache(maxsize=_TYPES_KEPT)
def _adapter(as_type: object) -> Adapter:
    from pydantic import TypeAdapter

    made: object = modern(as_type)
    adapter: TypeAdapter[object] = TypeAdapter(made)  # type: ignore[arg-type]  # known at run time only
    return adapter


def modern(annotation: object) -> object:
    """Return the annotation with every `TypedDict` of `typing` in a form that can be read at run time.

    Before Python 3.12 those keep too little for pydantic. One inside a class is not reached.
    """
    if sys.version_info >= (3, 12):
        return annotation
    if is_typeddict(annotation):
        return _modern_dict(annotation) if type(annotation).__module__ == "typing" else annotation
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        parts = parts[:1]
    renewed = tuple(modern(part) for part in parts)
    if all(new is old for new, old in zip(renewed, parts, strict=True)):
        return annotation
    return _rebuilt(annotation, renewed)


def _rebuilt(annotation: object, parts: tuple[object, ...]) -> object:
    origin = get_origin(annotation)
    if origin is Annotated:
        return Annotated[(*parts, *get_args(annotation)[1:])]
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, parts)
    return origin[parts] if origin is not None else annotation


def _modern_dict(of: object) -> object:
    import typing_extensions

    fields: dict[str, object] = {}
    required: frozenset[str] = getattr(of, "__required_keys__", frozenset())
    for name, hint in get_type_hints(of, include_extras=True).items():
        bare = get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint
        fields[name] = operator.getitem(Required if name in required else NotRequired, modern(bare))
    return typing_extensions.TypedDict(getattr(of, "__name__", "Arguments"), fields)  # type: ignore[operator]  # the functional form takes fields only known now


def without_titles(schema: dict[str, object]) -> dict[str, object]:
    """Return the schema without the titles that pydantic makes of names."""
    for node in list(subschemas(schema)):
        if isinstance(node.get("title"), str):
            del node["title"]
    return schema


def describe_properties(schema: Mapping[str, object], hints: Mapping[str, object]) -> None:
    """Add the plain strings of `Annotated` hints as descriptions, where a property has none."""
    properties = schema.get("properties")
    for name, node in properties.items() if isinstance(properties, dict) else ():
        text = annotated_text(hints.get(name))
        if text and isinstance(node, dict):
            node.setdefault("description", text)


def annotated_text(hint: object) -> str:
    """Return the first plain string of an `Annotated` hint, empty without."""
    if get_origin(hint) in (Required, NotRequired):
        hint = get_args(hint)[0]
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, str)), "")


def _inline(schema: dict[str, object]) -> None:
    """Put objects that arguments hold where they stand, closed, and optional where they may be left out.

    No type of arguments may hold itself.
    """
    found = schema.pop("$defs", None)
    defs: Mapping[str, object] = found if isinstance(found, dict) else {}
    waiting = list(subschemas(schema))
    while waiting:
        node = waiting.pop()
        inner = defs.get(str(node.get("$ref", "")).removeprefix("#/$defs/"))
        if isinstance(inner, dict):
            del node["$ref"]
            own: dict[str, object] = json.loads(json.dumps(inner))
            if "properties" in own:
                own["additionalProperties"] = False
                _make_optional(own)
            node.update({**own, **node})
            waiting += [one for one in subschemas(node) if one is not node]


def _make_optional(schema: Mapping[str, object]) -> None:
    """Turn each property that is null by default into one that may be left out."""
    properties = schema.get("properties")
    for node in properties.values() if isinstance(properties, dict) else ():
        branches = node.get("anyOf") if isinstance(node, dict) else None
        if isinstance(branches, list) and _NULL in branches and node.get("default", ...) is None:
            kept = [branch for branch in branches if branch != _NULL]
            del node["default"]
            del node["anyOf"]
            node.update(kept[0] if len(kept) == 1 else {"anyOf": kept})
