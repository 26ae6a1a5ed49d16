"""Words of a shell command after quote removal, and what the shell may still make of them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from hilt.core.pattern import escape

_UNQUOTED_ESCAPE: Final = re.compile(r"\\(?:\n|(.))", re.DOTALL)
_QUOTED_ESCAPE: Final = re.compile(r"\\(?:\n|([$`\"\\]))")
_ANSI_C: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_C_NAMED: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "v": "\v",
}
_EXPANDED: Final = re.compile(r"[*?\[{]|^~|=~|:~")

_PLAIN: Final = frozenset({"word", "number", "variable_name", "file_descriptor", "extglob_pattern", "test_operator"})
_DYNAMIC: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word; `loose` is a glob of what it may become, None where it is exactly `text`.

    A word whose `text` is None was not written: it stands for arguments that come at run time.
    """

    text: str | None
    loose: str | None = None
    odd: bool = False

    @property
    def fixed(self) -> bool:
        """Whether the shell leaves the word as it is."""
        return self.loose is None


def word_of(node: Node) -> Word:
    """Return the word that a node of the syntax tree stands for."""
    raw = source_of(node)
    kind = node.type
    if kind in _PLAIN or not node.is_named:
        return _unquoted(raw)
    if kind == "raw_string":
        return Word(raw[1:-1])
    if kind in _DYNAMIC:
        return Word(raw, "*")
    if kind == "string":
        return _sliced(node, quoted=True)
    if kind in {"concatenation", "command_name"}:
        return _sliced(node, quoted=False)
    if kind == "variable_assignment":
        return _assignment(node)
    if kind == "ansi_c_string":
        return Word(_ANSI_C.sub(_ansi_c, raw[2:-1]), odd=True)
    return Word(raw, "*", odd=True)


def source_of(node: Node) -> str:
    """Return the text of a node; bytes that are no character are replaced."""
    return (node.text or b"").decode("utf-8", "replace")


def _unquoted(raw: str) -> Word:
    text = _UNQUOTED_ESCAPE.sub(r"\1", raw)
    bare = _UNQUOTED_ESCAPE.sub("", raw).replace("{}", "")
    return Word(text, "*") if _EXPANDED.search(bare) else Word(text)


def _sliced(node: Node, *, quoted: bool) -> Word:
    """Join the parts of a word; what stands between expansions and quotes belongs to it as well."""
    raw = node.text or b""
    start = node.start_byte
    parts: list[Word] = []
    place = 1 if quoted else 0
    for child in node.children:
        if child.type not in _DYNAMIC and (quoted or child.type in _PLAIN or not child.is_named):
            continue
        parts.append(_between(raw[place : child.start_byte - start], quoted=quoted))
        parts.append(word_of(child))
        place = child.end_byte - start
    parts.append(_between(raw[place : len(raw) - 1 if quoted else len(raw)], quoted=quoted))
    return joined_word(parts)


def _between(raw: bytes, *, quoted: bool) -> Word:
    text = raw.decode("utf-8", "replace")
    return Word(_QUOTED_ESCAPE.sub(r"\1", text)) if quoted else _unquoted(text)


def joined_word(parts: Iterable[Word]) -> Word:
    """Return one word of several that touch."""
    known = [part for part in parts if part.text]
    text = "".join(part.text or "" for part in known)
    odd = any(part.odd for part in known)
    if all(part.fixed for part in known):
        return Word(text, odd=odd)
    return Word(text, "".join(part.loose or escape(part.text or "") for part in known), odd)


def _assignment(node: Node) -> Word:
    value = node.child_by_field_name("value")
    raw = node.text or b""
    if value is None:
        return Word(source_of(node), odd=b"[" in raw)
    head = raw[: value.start_byte - node.start_byte].decode("utf-8", "replace")
    word = joined_word((Word(head), word_of(value)))
    return Word(word.text, word.loose, word.odd or "[" in head)


def _ansi_c(match: re.Match[str]) -> str:
    hexadecimal, octal, other = match.groups()
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    if octal:
        return chr(int(octal, 8) & 0xFF)
    return _ANSI_C_NAMED.get(other, other)


def text_of(words: Sequence[Word]) -> str:
    """Return words joined by one blank, as written."""
    return " ".join(word.text for word in words if word.text is not None)


def loose_of(words: Sequence[Word]) -> str | None:
    """Return a glob of what the words may become, None where they are exactly their text.

    An expansion may give no word or many, so that the blank before it is part of its star.
    """
    if all(word.fixed for word in words):
        return None
    pieces: list[str] = []
    for word in words:
        piece = escape(word.text or "") if word.loose is None else word.loose
        if pieces and not piece.startswith("*"):
            pieces.append(" ")
        pieces.append(piece)
    return "".join(pieces)
