r"""Patterns of rules: `*` any run of characters, `?` one character, `\` takes the next one literally.

A pattern is held against a whole subject. `PREFIX:*` stands for the prefix alone or followed by a blank and
anything. Matching takes time linear in subject and pattern, whatever the pattern.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(r"\\(.)|(\*)|(\?)|(.)", re.DOTALL)
_SPECIAL: Final = re.compile(r"[\\*?]")

STAR: Final = "**"
ANY: Final = "??"
Tokens = tuple[str, ...]


def tokens(pattern: str) -> Tokens:
    """Return the pattern as single characters, `STAR` and `ANY`; a last lone backslash stands for itself."""
    found: list[str] = []
    for match in _TOKEN.finditer(pattern):
        escaped, star, any_, plain = match.groups()
        if star:
            if not found or found[-1] is not STAR:
                found.append(STAR)
        elif any_:
            found.append(ANY)
        else:
            found.append(escaped if escaped is not None else plain)
    return tuple(found)


def escape(text: str) -> str:
    """Return the pattern that matches `text` alone."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def unescape(pattern: str) -> str:
    """Return the text with each escaped character as itself; wildcards stay as they are written."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)


def is_literal(pattern: str) -> bool:
    """Tell whether the pattern matches one text only."""
    found = tokens(pattern)
    return STAR not in found and ANY not in found


@lru_cache(maxsize=4096)
def globs(pattern: str) -> tuple[Tokens, ...]:
    """Return the token rows that a pattern stands for: one, or two for `PREFIX:*`."""
    found = tokens(pattern)
    prefixed = pattern.endswith(":*") and not _ends_escaped(pattern[:-2])
    if not prefixed:
        return (found,)
    prefix = found[:-2]
    return prefix, (*prefix, " ", STAR)


def _ends_escaped(text: str) -> bool:
    """Tell whether the character after `text` is taken literally."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def regex_source(rows: Sequence[Tokens]) -> str:
    """Return a regular expression, for `re.DOTALL`, that matches the whole text as any of the rows does."""
    return "|".join(_row_source(row) for row in rows)


def _row_source(row: Tokens, one: str = ".") -> str:
    """Turn stars between fixed parts into atomic groups: the first fit is good enough, none is undone.

    `one` is the expression for a single character.
    """
    parts: list[str] = [""]
    for token in row:
        if token is STAR:
            parts.append("")
        else:
            parts[-1] += one if token is ANY else re.escape(token)
    if len(parts) == 1:
        return parts[0] + r"\Z"
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1])
    return rf"{parts[0]}{middle}.*{parts[-1]}\Z"


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the pattern as a regular expression for `match`."""
    return re.compile(regex_source(globs(pattern)), re.DOTALL)


@lru_cache(maxsize=4096)
def compile_name(pattern: str) -> re.Pattern[str]:
    """Return the pattern of a tool's name as a regular expression for `match`; `:*` is nothing special."""
    return re.compile(_row_source(tokens(pattern)), re.DOTALL)


def matches_name(pattern: str, name: str) -> bool:
    """Tell whether the pattern of a tool's name matches the whole name."""
    return compile_name(pattern).match(name) is not None


def matches(pattern: str, text: str) -> bool:
    """Tell whether the pattern matches the whole text."""
    return compile_pattern(pattern).match(text) is not None


def may_meet(left: Tokens, right: Tokens) -> bool:
    """Tell whether some text matches both rows."""
    for a, b in zip(left, right, strict=False):
        if a is STAR or b is STAR:
            break
        if a is not ANY and b is not ANY and a != b:
            return False
    reach = {0}
    for token in left:
        reach = _through(reach, token, right)
        if not reach:
            return False
    return len(right) in _skip_stars(reach, right)


def _through(reach: set[int], token: str, right: Tokens) -> set[int]:
    """Return the places in `right` that can stand after `token` of the other row has been used up."""
    places = _skip_stars(reach, right)
    if token is STAR:
        return set(range(min(places), len(right) + 1))
    onward: set[int] = set()
    for place in places:
        if place == len(right):
            continue
        other = right[place]
        if other is STAR:
            onward.add(place)
        elif token is ANY or other is ANY or token == other:
            onward.add(place + 1)
    return onward


def _skip_stars(reach: set[int], right: Tokens) -> set[int]:
    """Add the places behind stars, which may stand for nothing."""
    more = set(reach)
    for place in sorted(reach):
        onward = place
        while onward < len(right) and right[onward] is STAR:
            onward += 1
            more.add(onward)
    return more


_HIDDEN_STAR: Final = "\U0010ffff"
_HIDDEN_ANY: Final = "\U0010fffe"


def includes(wide: str, narrow: str) -> bool:
    """Tell whether every text that `narrow` matches is matched by `wide`; may say False where it is so."""
    return all(any(globs_include(w, n) for w in globs(wide)) for n in globs(narrow))


def globs_include(wide: Tokens, narrow: Tokens) -> bool:
    """Tell the same as `includes` of two rows."""
    shown = "".join(_HIDDEN_STAR if t is STAR else _HIDDEN_ANY if t is ANY else t for t in narrow)
    return re.compile(_row_source(wide, f"[^{_HIDDEN_STAR}]"), re.DOTALL).match(shown) is not None
