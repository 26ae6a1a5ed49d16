"""A YAML text read as data: values with their places, and nothing that builds objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from hilt.core.errors import ConfigError

ALIAS_GROWTH_MAX_CHARS: Final = 1024 * 1024

_TAG: Final = "tag:yaml.org,2002:"
_READ: Final = frozenset({f"{_TAG}{kind}" for kind in ("null", "bool", "int", "float")})
_TEXT: Final = frozenset({f"{_TAG}{kind}" for kind in ("str", "timestamp", "merge", "value")})
_NODE_CHARS: Final = 16  # what a node costs besides its text, so that empty lists count too


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A value and its place; line and column count from 1, a text's column is that of its first character.

    `value` is None, a bool, an int, a float, a text, a tuple of Located, or a mapping of text to Located; the
    line of a mapping's value is that of its key.
    """

    value: object
    line: int
    column: int = 1


def parse_yaml(
    text: str, *, source: str, as_text: bool = False, growth_max_chars: int = ALIAS_GROWTH_MAX_CHARS
) -> Located:
    """Return the one document of `text`; an empty text is a Located None in line 1.

    With `as_text` every scalar is a text as it is written, and so is every key.

    Raises:
        ConfigError: It is no YAML, has a tag that builds objects, a key that is no text or stands twice, a
            value that contains itself, or aliases that grow past the limit; names source and line.
    """
    reader = YAML(typ="safe", pure=True)
    try:
        node: Node | None = reader.compose(text.removeprefix("\ufeff"))
        if node is None:
            return Located(value=None, line=1)
        return _Conversion(reader, source, as_text, growth_max_chars).located(node)
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line = None if mark is None else mark.line + 1
        raise ConfigError(f"not valid YAML: {exc.problem or exc.context}", source=source, line=line) from None
    except YAMLError as exc:
        raise ConfigError(f"not valid YAML: {str(exc).splitlines()[0]}", source=source) from None
    except RecursionError:
        raise ConfigError("nested too deeply", source=source) from None


class _Conversion:
    def __init__(self, reader: YAML, source: str, as_text: bool, growth_max_chars: int) -> None:
        self._reader = reader
        self._source = source
        self._texts = _TEXT | _READ if as_text else _TEXT
        self._growth_max_chars = growth_max_chars
        self._open: set[int] = set()
        self._seen: set[int] = set()
        self._repeated = 0
        self._grown = 0

    def located(self, node: Node) -> Located:
        identity = id(node)
        if identity in self._open:
            raise self._fault(node, "a value may not contain itself")
        repeats = identity in self._seen
        self._seen.add(identity)
        self._open.add(identity)
        self._repeated += repeats
        try:
            self._count(node)
            return Located(value=self._value(node), line=_line(node), column=_column(node))
        finally:
            self._repeated -= repeats
            self._open.discard(identity)

    def _count(self, node: Node) -> None:
        if not self._repeated:
            return
        self._grown += _NODE_CHARS + (len(node.value) if isinstance(node, ScalarNode) else 0)
        if self._grown > self._growth_max_chars:
            raise self._fault(node, f"aliases make the document grow past {_size(self._growth_max_chars)}")

    def _value(self, node: Node) -> object:
        tag = str(node.tag)
        if isinstance(node, MappingNode) and tag == f"{_TAG}map":
            return self._mapping(node)
        if isinstance(node, SequenceNode) and tag == f"{_TAG}seq":
            return tuple([self.located(item) for item in node.value])
        if isinstance(node, ScalarNode) and tag in self._texts:
            return str(node.value)
        if isinstance(node, ScalarNode) and tag in _READ:
            return self._scalar(node)
        raise self._fault(node, f"the tag {tag.replace(_TAG, '!!')!r} is not read; write plain data")

    def _scalar(self, node: ScalarNode) -> object:
        try:
            value: object = self._reader.constructor.construct_object(node)
        except (ValueError, KeyError):
            kind = str(node.tag).removeprefix(_TAG)
            raise self._fault(node, f"{str(node.value)[:40]!r} cannot be read as {kind}") from None
        return value

    def _mapping(self, node: MappingNode) -> Mapping[str, Located]:
        out: dict[str, Located] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in out:
                raise self._fault(key_node, f"the key {key!r} stands twice")
            value = self.located(value_node)
            out[key] = Located(value=value.value, line=_line(key_node), column=value.column)
        return out

    def _key(self, node: Node) -> str:
        if not isinstance(node, ScalarNode) or str(node.tag) not in self._texts:
            raise self._fault(node, "a key is a text; put it in quotes")
        return str(node.value)

    def _fault(self, node: Node, message: str) -> ConfigError:
        return ConfigError(message, source=self._source, line=_line(node))


def _size(characters: int) -> str:
    return f"{characters // 1024} KiB" if characters % 2**20 else f"{characters // 2**20} MiB"


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _column(node: Node) -> int:
    quoted = isinstance(node, ScalarNode) and node.style in ("'", '"')
    return int(node.start_mark.column) + 1 + quoted
