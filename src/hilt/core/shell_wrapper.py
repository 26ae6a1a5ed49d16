"""Commands that run another command: where the inner one begins, in words or as text for a shell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hilt.core.shell_word import Word

LEVELS_MAX: Final = 8
INNER_MAX: Final = 32

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_SPLIT: Final = re.compile(r"-[^-=S]*S(.*)|--s[a-z-]*(?:=.*)?", re.DOTALL)
_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"})
_FIND_EXEC: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_READS_STDIN: Final = re.compile(r"-|/dev/(?:stdin|fd/.*)|/proc/self/fd/.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wrapper:
    """Options that take a value, short and long; how many operands stand before the inner command."""

    short: str = ""
    long: frozenset[str] = frozenset()
    operands: int = 0
    assignments: bool = False


def _wrapper(short: str = "", long: str = "", *, operands: int = 0, assignments: bool = False) -> _Wrapper:
    return _Wrapper(short=short, long=frozenset(long.split()), operands=operands, assignments=assignments)


_WRAPPERS: Final = {
    "timeout": _wrapper("ks", "kill-after signal", operands=1),
    "time": _wrapper("fo", "format output"),
    "nice": _wrapper("n", "adjustment"),
    "nohup": _wrapper(),
    "env": _wrapper("uC", "unset chdir", assignments=True),
    "stdbuf": _wrapper("ioe", "input output error"),
    "ionice": _wrapper("cnpPu", "class classdata pid pgid uid"),
    "command": _wrapper(),
    "exec": _wrapper("a"),
    "sudo": _wrapper(
        "ugChpRrtTUD",
        "user group host prompt chroot role type close-from other-user command-timeout chdir",
        assignments=True,
    ),
    "doas": _wrapper("uC"),
    "xargs": _wrapper("adEILnPs", "arg-file delimiter max-args max-procs max-chars process-slot-var"),
    "setsid": _wrapper(),
    "builtin": _wrapper(),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "coproc": _wrapper(),
    "chroot": _wrapper("", "userspec groups", operands=1),
}


@dataclass(slots=True)
class Inner:
    """What a command runs: further rows of words, texts for a shell, and why it may be unclear."""

    rows: list[tuple[Word, ...]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    unclear: str = ""


def command_name(word: Word) -> str:
    """Return the name without a path before it."""
    return (word.text or "").rpartition("/")[2]


def unwrap(words: Sequence[Word]) -> Inner:
    """Return what the command runs through wrappers, any number deep up to `LEVELS_MAX`."""
    inner = Inner()
    pending = [tuple(words)]
    for _ in range(LEVELS_MAX):
        further: list[tuple[Word, ...]] = []
        for row in pending:
            further += _one_level(row, inner)
        inner.rows += further
        pending = further
        if not pending:
            return inner
        if len(inner.rows) > INNER_MAX:
            break
    inner.unclear = "too many commands within commands"
    return inner


def _one_level(row: tuple[Word, ...], inner: Inner) -> list[tuple[Word, ...]]:
    name = command_name(row[0])
    if name in _WRAPPERS:
        return _wrapped(name, row, inner)
    if name in _SHELLS:
        _shell(row, inner)
    elif name in {"eval", "trap", "alias"}:
        inner.unclear = f"{name} runs text as a command"
        inner.texts.append(" ".join(word.text or "" for word in (row[1:] if name != "trap" else row[1:2])))
    elif name == "find":
        return _find(row)
    return []


def _wrapped(name: str, row: tuple[Word, ...], inner: Inner) -> list[tuple[Word, ...]]:
    """Skip the wrapper's own options and operands."""
    wrapper = _WRAPPERS[name]
    place = 1
    while place < len(row):
        text = row[place].text or ""
        if not row[place].fixed:
            inner.unclear = f"{name} runs what an expansion gives"
            break
        if text == "--":
            place += 1
            break
        split = _SPLIT.fullmatch(text) if name == "env" else None
        if split:
            inner.unclear = "env splits a text into a command"
            inner.texts.append(
                " ".join(
                    [
                        split.group(1) or text.partition("=")[2],
                        *(word.text or "" for word in row[place + 1 :]),
                    ]
                )
            )
            return []
        if text.startswith("-") and len(text) > 1:
            place += 2 if _takes_value(wrapper, text) else 1
        elif wrapper.assignments and _ASSIGNMENT.match(text):
            place += 1
        else:
            break
    rest = row[place + wrapper.operands :]
    while wrapper.assignments and rest and _ASSIGNMENT.match(rest[0].text or ""):
        rest = rest[1:]
    if not rest or rest[0].text is None:
        return []
    return [(*rest, Word(None, "*"))] if name == "xargs" else [rest]


def _takes_value(wrapper: _Wrapper, option: str) -> bool:
    """Tell whether the next word is this option's value; a long option may be cut short."""
    if option.startswith("--"):
        return "=" not in option and any(name.startswith(option[2:]) for name in wrapper.long)
    for place, letter in enumerate(option[1:], start=2):
        if letter in wrapper.short:
            return place == len(option)
    return False


def _shell(row: tuple[Word, ...], inner: Inner) -> None:
    """Find the text of `-c`, or the script; a shell that has neither reads commands from elsewhere."""
    takes_text = False
    place = 1
    while place < len(row):
        word = row[place]
        text = word.text or ""
        if not word.fixed:
            inner.unclear = "a shell runs what an expansion gives"
            return
        if not text.startswith(("-", "+")) or text in {"-", "--"}:
            place += text == "--"
            break
        if not text.startswith("--"):
            takes_text = takes_text or (text.startswith("-") and "c" in text)
            if "s" in text[1:]:
                inner.unclear = "a shell reads commands from its input"
        valued = text in {"--rcfile", "--init-file"} or (not text.startswith("--") and text[-1] in "oO")
        place += 2 if valued else 1
    if place >= len(row):
        inner.unclear = "a shell reads commands from its input"
        return
    operand = row[place]
    if not operand.fixed:
        inner.unclear = "a shell runs what an expansion gives"
    elif takes_text:
        inner.texts.append(operand.text or "")
    elif _READS_STDIN.fullmatch(operand.text or ""):
        inner.unclear = "a shell reads commands from its input"


def _find(row: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """Return the commands of `-exec` and its like; `{}` in them is any path."""
    rows: list[tuple[Word, ...]] = []
    place = 0
    while place < len(row) and len(rows) <= INNER_MAX:
        if row[place].text not in _FIND_EXEC:
            place += 1
            continue
        end = place + 1
        while end < len(row) and row[end].text not in {";", "+"}:
            end += 1
        if end > place + 1:
            rows.append(tuple(_path_for_braces(word) for word in row[place + 1 : end]))
        place = end
    return rows


def _path_for_braces(word: Word) -> Word:
    text = word.text or ""
    return Word(text, "*") if "{}" in text and word.fixed else word
