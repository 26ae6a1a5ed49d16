"""Glob patterns: `*`, `?`, `[ ]`, `{a,b}` and `**`, matched in linear time whatever the pattern."""

import re2

from hilt.core.errors import ToolError

GLOB_MAX_CHARS = 4096
_PATTERN_MAX_MEMORY_BYTES = 8 << 20


class Glob:
    """One compiled pattern over paths with `/` between their parts.

    `*` and `?` stay within a part; `**` as a whole part stands for any number of parts, also none, and at the
    end for one or more. Names that begin with a dot are names like others. A pattern that ends in `/`
    matches directories only.
    """

    __slots__ = ("_regex", "directories", "start")

    def __init__(self, pattern: str, *, any_depth: bool = False) -> None:
        """Compile; with `any_depth` a pattern without `/` matches the last part of a path at any depth.

        Raises:
            ToolError: `invalid_arguments`, with what is wrong in the pattern.
        """
        text = _checked(pattern)
        self.directories = text.endswith("/")
        parts = [part for part in text.split("/") if part not in ("", ".")]
        if not parts or ".." in parts:
            raise ToolError.invalid_arguments(f"glob {pattern!r} must name something below its directory")
        if any_depth and len(parts) == 1:
            parts.insert(0, "**")
        self.start = _literal_start(parts)
        self._regex = _compiled(pattern, _regex("/".join(parts)))

    def matches(self, path: str) -> bool:
        """Return whether the whole path matches."""
        name = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return self._regex.fullmatch(name.encode()) is not None


def _checked(pattern: str) -> str:
    if not pattern or len(pattern) > GLOB_MAX_CHARS or "\0" in pattern:
        raise ToolError.invalid_arguments(f"a glob has 1 to {GLOB_MAX_CHARS} characters and no NUL")
    if pattern.startswith("/"):
        raise ToolError.invalid_arguments("a glob is relative; name the directory in 'path'")
    return pattern


def _compiled(pattern: str, regex: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MAX_MEMORY_BYTES
    options.never_capture = True
    options.dot_nl = True
    try:
        return re2.compile(regex.encode("utf-8"), options)
    except UnicodeEncodeError:
        raise ToolError.invalid_arguments("a glob is text without lone surrogates") from None
    except re2.error as exc:
        raise ToolError.invalid_arguments(f"glob {pattern!r} is not valid: {_reason(exc)}") from None


def _reason(error: Exception) -> str:
    first = error.args[0] if error.args else ""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)


def _literal_start(parts: list[str]) -> str:
    """Return the leading parts that hold no pattern, so that a walk can begin there; never the last part."""
    start: list[str] = []
    for part in parts[:-1]:
        if any(c in part for c in "*?[{}\\,"):
            break
        start.append(part)
    return "/".join(start) or "."


def _regex(pattern: str) -> str:
    out: list[str] = []
    depth = 0
    index = 0
    while index < len(pattern):
        c = pattern[index]
        if c == "*":
            text, index = _star(pattern, index)
        elif c == "[":
            text, index = _class(pattern, index)
        else:
            text, index, depth = _plain(pattern, index, depth)
        out.append(text)
    if depth:
        raise ToolError.invalid_arguments(f"glob {pattern!r} is not valid: missing }}")
    return "".join(out)


def _plain(pattern: str, index: int, depth: int) -> tuple[str, int, int]:
    c = pattern[index]
    if c == "\\" and index + 1 < len(pattern):
        return _literal(pattern[index + 1]), index + 2, depth
    if c == "?":
        return "[^/]", index + 1, depth
    if c == "{":
        return "(?:", index + 1, depth + 1
    if c == "}" and depth:
        return ")", index + 1, depth - 1
    if c == "," and depth:
        return "|", index + 1, depth
    return _literal(c), index + 1, depth


def _literal(c: str) -> str:
    return c if c.isalnum() or ord(c) >= 0x80 else rf"\x{ord(c):02x}"


def _star(pattern: str, index: int) -> tuple[str, int]:
    end = index
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    whole = end - index == 2 and (index == 0 or pattern[index - 1] in "/{,")
    if whole and end < len(pattern) and pattern[end] == "/":
        return "(?:[^/]+/)*", end + 1
    if whole and (end == len(pattern) or pattern[end] in "},"):
        return ".*", end
    return "[^/]*", end


def _class(pattern: str, index: int) -> tuple[str, int]:
    """Return the class that starts at `index`; `!` and `^` negate, and `/` is never a member."""
    negated = pattern[index + 1 : index + 2] in ("!", "^")
    start = index + 2 if negated else index + 1
    end = pattern.find("]", start + 1)
    if end < 0:
        raise ToolError.invalid_arguments(f"glob {pattern!r} is not valid: missing ]")
    members = "".join(c if c == "-" else _literal(c) for c in pattern[start:end])
    return f"[{'^/' if negated else ''}{members}]", end + 1
