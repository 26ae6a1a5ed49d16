"""Turns text into the words that tool search compares: split, folded, without their English endings."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from snowballstemmer import EnglishStemmer

WORD_MAX_CHARS: Final = 64
PARAMETER_LEVELS: Final = 3
ENUM_WORDS_MAX: Final = 20

# Case changes and the start of a number end a word: `getHTTPFile2024` holds get, http, file, 2024.
_SEAM: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9]{2,})|(?<=[0-9]{2})(?=[A-Za-z])"
)
# Scripts that are written without spaces: kana, Han, Hangul.
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
_WORD: Final = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_PAIRED: Final = re.compile(rf"[{_UNSPACED}]")
_SEPARATORS: Final = re.compile(r"[\W_]+")

STOP_WORDS: Final = frozenset(
    "a an and are as at be been but by can could do does for from has have how i if in into is it its me my of on or "
    "our please should so some than that the their them then there these they this those to was we were what when "
    "where which who will with would you your us let need want using use used via".split()
)


def words(text: str) -> Iterator[str]:
    """Return the words of a text in order, in lower case; of text without spaces, each pair of neighbours."""
    for word in _WORD.findall(_SEAM.sub(" ", text).lower()):
        if _PAIRED.match(word) and len(word) > 1:
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        else:
            yield word[:WORD_MAX_CHARS]


def folded(name: str) -> str:
    """Return a name without its case and its separators: what makes two spellings of a name the same."""
    return _SEPARATORS.sub("", name).casefold()


class Stems:
    """The stems of words, each found once. Not for two threads at a time."""

    def __init__(self) -> None:
        self._stemmer = EnglishStemmer()
        self.known: dict[str, str] = {}

    def of(self, text: str) -> list[str]:
        """Return the stems of a text's words, in order."""
        known = self.known
        out = []
        for word in words(text):
            stem = known.get(word)
            out.append(self._stem(word) if stem is None else stem)
        return out

    def stem(self, word: str) -> str:
        """Return the stem of one word, which is not remembered."""
        return self.known.get(word) or self._stemmer.stemWord(word)

    def _stem(self, word: str) -> str:
        stem = self.known[word] = self._stemmer.stemWord(word)
        return stem


def parameter_text(schema: Mapping[str, object]) -> tuple[str, str]:
    """Return the names of a schema's parameters, nested ones too, and what is said of them, enumerations included."""
    names: list[str] = []
    said: list[str] = []
    _walk(schema, PARAMETER_LEVELS, names, said)
    return " ".join(names), " ".join(said)


def _walk(schema: object, levels: int, names: list[str], said: list[str]) -> None:
    if not isinstance(schema, Mapping) or not levels:
        return
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        names.append(str(name))
        if not isinstance(value, Mapping):
            continue
        description, choices = value.get("description"), value.get("enum")
        if isinstance(description, str):
            said.append(description)
        if isinstance(choices, list):
            said.extend(str(choice) for choice in choices[:ENUM_WORDS_MAX])
        _walk(value, levels - 1, names, said)
        _walk(value.get("items"), levels - 1, names, said)
