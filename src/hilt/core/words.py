"""Splits the rest of a command line into words, with quotes and backslashes as in a shell; nothing is expanded."""

from typing import Final

from hilt.core.errors import RequestError

_IN_DOUBLE: Final = frozenset('"\\$`')
_SHOWN: Final = 40


class OpenQuoteError(RequestError):
    """A quote is opened and never closed; `place` is its index in the text."""

    def __init__(self, text: str, place: int) -> None:
        shown = text[place : place + _SHOWN] + ("…" if len(text) > place + _SHOWN else "")
        super().__init__(f"the quote that opens at character {place + 1} is never closed: {shown}")
        self.place = place


def split_words(text: str) -> list[str]:
    r"""Return the words of a text.

    White space divides words. A backslash takes the next character as it is; between single quotes everything is
    as it is, between double ones a backslash counts before `"`, `\\`, `$` and a backtick alone.

    Raises:
        OpenQuoteError: A quote is not closed.
    """
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            if word is not None:
                words.append("".join(word))
                word = None
            at += 1
            continue
        word = [] if word is None else word
        if char in "'\"":
            inner, at = _quoted(text, at)
            word.append(inner)
        elif char == "\\" and at + 1 < len(text):
            word.append(text[at + 1])
            at += 2
        else:
            word.append(char)
            at += 1
    if word is not None:
        words.append("".join(word))
    return words


def _quoted(text: str, start: int) -> tuple[str, int]:
    """Return what stands between the quotes and the place behind them."""
    quote = text[start]
    out: list[str] = []
    at = start + 1
    while at < len(text):
        char = text[at]
        if char == quote:
            return "".join(out), at + 1
        if char == "\\" and quote == '"' and text[at + 1 : at + 2] in _IN_DOUBLE:
            at += 1
            char = text[at]
        out.append(char)
        at += 1
    raise OpenQuoteError(text, start)
