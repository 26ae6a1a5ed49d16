"""Turns text into the words that tool search compares: split, folded, without their English endings."""

import re
from collections.abc import Mapping
from typing import Final

from snowballstemmer.english_stemmer import EnglishStemmer

from hilt.core.search_spelling import Spelling

STEMMED_MAX_CHARS: Final = 64
PARAMETER_LEVELS: Final = 3
ENUM_WORDS_MAX: Final = 20

# Case changes and the start of a number end a word: `getHTTPFile2024` holds get, http, file, 2024.
_SEAM: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9]{2,})|(?<=[0-9]{2})(?=[A-Za-z])"
)
# Scripts that are written without spaces: kana, Han, Hangul.
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
_WORD: Final = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_FIRST: Final = re.compile(rf"[{_UNSPACED}]")
# How all words end that have an English ending: any other word is its own stem.
_ENDINGS_TEXT: Final = "e s y al ant ator ci ed ent er ful gi ic ing ion ism ist li ll ti"
_ENDINGS: Final = tuple(_ENDINGS_TEXT.split())
_SEPARATORS: Final = re.compile(r"[\W_]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n")

# Function words of English, and what people say to an assistant around a task: no tool is meant by them.
_STOP_TEXT: Final = """
a about above after again against all am an and any are as at be because been before being below between both but
by can cannot could d did do does doing don down during each few for from further had has have having he her here
hers herself him himself his how i if in into is it its itself just ll m me more most my myself need no nor not
now of off on once only or other ought our ours ourselves out over own re s same she should so some such t than
that the their theirs them themselves then there these they this those through to too under until up us use used
using ve very via was we were what when where which while who whom why will with would you your yours yourself
yourselves
also anything get give hello help hi information interested know let like looking please provide really recommend
something suggest suggestion suggestions tell thank thanks try trying want
"""
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())


def words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case; of text without spaces, each pair of neighbours."""
    found: list[str] = _WORD.findall(_SEAM.sub(" ", text).lower())
    if text.isascii():
        return found
    out: list[str] = []
    for word in found:
        if len(word) > 1 and _UNSPACED_FIRST.match(word):
            out.extend(word[at : at + 2] for at in range(len(word) - 1))
        else:
            out.append(word)
    return out


def folded(name: str) -> str:
    """Return a name without its case and its separators: what makes two spellings of a name the same."""
    return _SEPARATORS.sub("", name).casefold()


def opening(text: str) -> str:
    """Return the first sentence of a text, or its first line if that is shorter."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0].strip()


class Stems:
    """The stems of words, each found once. Not for two threads at a time."""

    def __init__(self) -> None:
        self._stemmer = EnglishStemmer()
        self._spelling = Spelling()
        self.known: dict[str, str] = {}

    def of(self, text: str) -> list[str]:
        """Return the stems of a text's words, in order."""
        known = self.known
        out = []
        for word in words(text):
            stem = known.get(word)
            out.append(self._stem(word) if stem is None else stem)
        return out

    def pairs(self, text: str) -> list[tuple[str, str]]:
        """Return each stem of a query once, with its word, in order; nothing is remembered."""
        found: dict[str, str] = {}
        for word in words(text):
            found.setdefault(self.stem(word), word)
        return list(found.items())

    def of_query(self, text: str) -> list[str]:
        """Return each stem of a query once, in order; nothing is remembered."""
        return [stem for stem, _ in self.pairs(text)]

    def stem(self, word: str) -> str:
        """Return the stem of one word, which is not remembered."""
        return self.known.get(word) or self._stemmed(word)

    def mistyped(self, word: str) -> list[str]:
        """Return the stems of known words that one mistake may have made into this one, by alphabet."""
        return sorted({self.known[near] for near in self._spelling.near(word)})

    def _stem(self, word: str) -> str:
        stem = self.known[word] = self._stemmed(word)
        self._spelling.add(word)
        return stem

    def _stemmed(self, word: str) -> str:
        if len(word) > STEMMED_MAX_CHARS or not word.endswith(_ENDINGS):
            return word
        stem: str = self._stemmer.stemWord(word)
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
