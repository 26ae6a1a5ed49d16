"""From a YAML document to values of the settings: unknown keys and wrong types are errors with their line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from hilt.app.settings_shape import (
    ChoiceShape,
    FlagShape,
    Key,
    ListShape,
    MapShape,
    NullShape,
    NumberShape,
    SectionShape,
    Shape,
    TextShape,
    number,
)
from hilt.core.errors import ConfigError
from hilt.core.mcp_url import shown_url
from hilt.core.yaml_document import Located

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One decoded value of a document. `lines` are those of a list's entries; marks are its key's."""

    path: KeyPath
    value: object
    line: int
    lines: tuple[int, ...] = ()
    operator: bool = False
    adds: bool = False


def dotted(path: KeyPath) -> str:
    """Return the path as people write it."""
    return ".".join(path)


def decode_document(shape: SectionShape, document: Located, *, source: str) -> list[Leaf]:
    """Return the values that a document gives, in its order; a section, list or table that is null is absent.

    Raises:
        ConfigError: A key is unknown, or a value is not of its type; names source, line and dotted key.
    """
    return list(
        _Decoder(source).leaves(Key(name="", shape=shape, required=False, operator=False, adds=False), document, ())
    )


def decode_value(shape: Shape, value: object, *, source: str, path: KeyPath) -> object:
    """Return the value of a flag or variable, given as plain data.

    Raises:
        ConfigError: It is not of its type; names source and key.
    """
    return _Decoder(source).value(shape, _located(value), path)


def _located(value: object) -> Located:
    inner = tuple(_located(item) for item in value) if isinstance(value, tuple) else value
    return Located(value=inner, line=0)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    match value:
        case None:
            return "null"
        case int() | float():
            return f"{value}"
        case str():
            told = shown_url(value) if "://" in value else value
            return repr(told if len(told) <= 40 else told[:40] + "…")
        case tuple():
            return "a list"
        case _:
            return "a table"


class _Decoder:
    """Decodes the values of one source."""

    def __init__(self, source: str) -> None:
        self._source = source

    def fault(self, node: Located, path: KeyPath, message: str) -> ConfigError:
        return ConfigError(message, source=self._source, line=node.line or None, key=dotted(path) or None)

    def expected(self, node: Located, path: KeyPath, what: str) -> ConfigError:
        return self.fault(node, path, f"expected {what}, got {_kind(node.value)}")

    def leaves(self, key: Key, node: Located, path: KeyPath) -> Iterator[Leaf]:
        """Yield the values below a key: those of a section and the entries of a table one by one."""
        shape = key.shape
        if node.value is None and isinstance(shape, SectionShape | MapShape | ListShape):
            return
        if isinstance(shape, SectionShape):
            for name, child in self._known(shape, node, path).items():
                below = shape.keys[name]
                marked = Key(
                    name=name,
                    shape=below.shape,
                    required=below.required,
                    operator=key.operator or below.operator,
                    adds=key.adds or below.adds,
                )
                yield from self.leaves(marked, child, (*path, name))
        elif isinstance(shape, MapShape):
            for name, child in self._table(node, path).items():
                self.value(shape.key, Located(value=name, line=child.line), (*path, name))
                yield self._leaf(key, shape.value, child, (*path, name))
        else:
            yield self._leaf(key, shape, node, path)

    def _leaf(self, key: Key, shape: Shape, node: Located, path: KeyPath) -> Leaf:
        items = node.value if isinstance(node.value, tuple) else ()
        return Leaf(
            path=path,
            value=self.value(shape, node, path),
            line=node.line,
            lines=tuple(item.line for item in items if isinstance(item, Located)),
            operator=key.operator,
            adds=key.adds,
        )

    def value(self, shape: Shape, node: Located, path: KeyPath) -> object:
        """Return the decoded value of a node."""
        match shape:
            case NullShape(inner):
                return None if node.value is None else self.value(inner, node, path)
            case TextShape():
                return self._text(shape, node, path)
            case FlagShape():
                if not isinstance(node.value, bool):
                    raise self.expected(node, path, "true or false")
                return node.value
            case NumberShape():
                return self._number(shape, node, path)
            case ChoiceShape():
                return self._choice(shape, node, path)
            case ListShape(item):
                return tuple(self.value(item, *entry) for entry in self._entries(node, path))
            case MapShape():
                return self._map(shape, node, path)
            case SectionShape():
                return self._section(shape, node, path)

    def _text(self, shape: TextShape, node: Located, path: KeyPath) -> object:
        if not isinstance(node.value, str):
            raise self.expected(node, path, "text")
        if shape.written is not None and not shape.written.fits(node.value):
            raise self.expected(node, path, shape.written.as_what)
        return node.value

    def _number(self, shape: NumberShape, node: Located, path: KeyPath) -> object:
        found = number(shape, node.value)
        if found is None:
            raise self.expected(node, path, "a whole number" if shape.whole else "a number")
        problem = shape.bounds.problem(found)
        if problem:
            raise self.expected(node, path, f"a number {problem}")
        return found

    def _choice(self, shape: ChoiceShape, node: Located, path: KeyPath) -> object:
        if not isinstance(node.value, str) or node.value not in shape.words:
            near = get_close_matches(str(node.value), shape.words, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise self.fault(node, path, f"expected one of {', '.join(shape.words)}, got {_kind(node.value)}{hint}")
        return node.value if shape.kind is None else shape.kind(node.value)

    def _entries(self, node: Located, path: KeyPath) -> list[tuple[Located, KeyPath]]:
        if node.value is None:
            return []
        if not isinstance(node.value, tuple):
            raise self.expected(node, path, "a list")
        return [(item, _indexed(path, index)) for index, item in enumerate(node.value)]

    def _table(self, node: Located, path: KeyPath) -> Mapping[str, Located]:
        if not isinstance(node.value, Mapping):
            raise self.expected(node, path, "a table")
        return node.value

    def _map(self, shape: MapShape, node: Located, path: KeyPath) -> Mapping[object, object]:
        table = {} if node.value is None else self._table(node, path)
        out: dict[object, object] = {}
        for name, child in table.items():
            key = self.value(shape.key, Located(value=name, line=child.line), (*path, name))
            out[key] = self.value(shape.value, child, (*path, name))
        return out

    def _known(self, shape: SectionShape, node: Located, path: KeyPath) -> Mapping[str, Located]:
        table = self._table(node, path)
        for name, child in table.items():
            if name not in shape.keys:
                near = get_close_matches(name, shape.keys, n=1)
                known = ", ".join(shape.keys) or "none so far"
                hint = f"did you mean {near[0]!r}?" if near else f"known keys are {known}"
                raise self.fault(child, (*path, name), f"unknown key; {hint}")
        return table

    def _section(self, shape: SectionShape, node: Located, path: KeyPath) -> object:
        if node.value is None:
            node = Located(value={}, line=node.line)
        table = self._known(shape, node, path)
        given = {name for name, child in table.items() if child.value is not None}
        for name, key in shape.keys.items():
            if key.required and name not in given:
                raise self.fault(node, (*path, name), "is missing")
        self._check_company(shape, node, path, set(table))
        values = {
            name: self.value(shape.keys[name].shape, child, (*path, name))
            for name, child in table.items()
            if child.value is not None or not isinstance(shape.keys[name].shape, SectionShape | ListShape | MapShape)
        }
        made: object = shape.kind(**values)
        return made

    def _check_company(self, shape: SectionShape, node: Located, path: KeyPath, given: set[str]) -> None:
        chosen = [name for name in shape.one_of if name in given]
        if shape.one_of and len(chosen) != 1:
            raise self.fault(node, path, f"needs exactly one of {' and '.join(shape.one_of)}")
        for name, other in shape.needs.items():
            if name in given and other not in given:
                raise self.fault(node, (*path, name), f"goes with {other!r} only")


def _indexed(path: KeyPath, index: int) -> KeyPath:
    return (*path[:-1], f"{path[-1]}[{index}]")
