"""The YAML between two lines of `---` at the top of a Markdown file, every value as a text, and the body below.

The form is the one of the Agent Skills format: plain data written line by line. Flow collections and tags are
refused as there; an alias is read as long as what it repeats stays small.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.tokens import FlowMappingStartToken, FlowSequenceStartToken, TagToken, Token

from hilt.core.errors import ConfigError
from hilt.core.yaml_document import Located, parse_yaml

FRONT_MATTER_MAX_BYTES: Final = 64 * 1024

_FENCE: Final = "---"
_CUT_AT: Final = re.compile(r"\s#")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file in its two halves. `values` are in the order of the file; `line` is that of the body's first line."""

    values: Mapping[str, Located] = field(default_factory=dict)
    body: str = ""
    line: int = 1
    fenced: bool = False
    cut: tuple[str, ...] = ()
    """Keys whose value ends at a ` #`, which begins a comment."""


def read_document(text: str, *, source: str, flow: bool = False) -> Document:
    """Return both halves of a text; a byte-order mark is passed over, and every line end becomes one LF.

    Without a first line `---` everything is body. With `flow` values in `[...]` and `{...}` are read too.

    Raises:
        ConfigError: The front matter is not closed, over 64 KiB, no YAML, or no mapping of plain data; names source
            and line.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        return Document(body="\n".join(lines))
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE), 0)
    if not end:
        raise ConfigError("the front matter is not closed by a line '---'", source=source, line=1)
    front = "\n".join(["", *lines[1:end], ""])
    if len(front.encode("utf-8", "surrogatepass")) > FRONT_MATTER_MAX_BYTES:
        raise ConfigError(f"the front matter is over {FRONT_MATTER_MAX_BYTES // 1024} KiB", source=source, line=1)
    values = _values(front, source, flow)
    return Document(
        values=values,
        body="\n".join(lines[end + 1 :]),
        line=end + 2,
        fenced=True,
        cut=tuple(key for key, value in values.items() if _is_cut(value, lines)),
    )


def _values(front: str, source: str, flow: bool) -> Mapping[str, Located]:
    try:
        value = parse_yaml(front, source=source, as_text=True, growth_max_chars=FRONT_MATTER_MAX_BYTES).value
    except ConfigError as exc:
        hint = "; put the value in quotes" if "mapping values are not allowed" in exc.reason else ""
        raise ConfigError(exc.reason + hint, source=source, line=exc.line) from None
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError("the front matter is no mapping of keys to values", source=source, line=2)
    for token in YAML(typ="safe", pure=True).scan(front):
        _check(token, source, flow)
    return value


def _check(token: Token, source: str, flow: bool) -> None:
    what = ""
    if isinstance(token, FlowMappingStartToken | FlowSequenceStartToken) and not flow:
        what = "values in [...] or {...} are not part of the format; write one entry a line"
    elif isinstance(token, TagToken):
        what = "tags are not read; write plain data"
    if what:
        raise ConfigError(what, source=source, line=int(token.start_mark.line) + 1)


def _is_cut(value: Located, lines: list[str]) -> bool:
    """Tell whether a plain text on its key's line ends before a comment that its writer may have meant as text."""
    if not isinstance(value.value, str) or value.line > len(lines):
        return False
    after = lines[value.line - 1].partition(":")[2].strip()
    return not after.startswith(("'", '"', "|", ">", "#")) and _CUT_AT.search(after) is not None
