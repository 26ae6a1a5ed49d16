"""Cut a shell command into segments for rules, and say when that cannot be relied upon.

No parser of shell text agrees with the shell everywhere. So a text counts as analysed only if it lies in a
simple subset: forms on which parsers differ are refused first, then only known nodes of the syntax tree are
let through. Everything else is opaque; its segments still serve denies and asks, never an allow.
"""

import re
from dataclasses import dataclass
from typing import Final

from hilt.core.permission import Subject
from hilt.core.shell_tree import Command, Script, read_script
from hilt.core.shell_word import Word, loose_of, text_of
from hilt.core.shell_wrapper import command_name, unwrap

PARSED_MAX_CHARS: Final = 4096
TANGLED_MAX_CHARS: Final = 2048
"""A longer text is not parsed and so opaque; the second holds for one that is not in the simple form."""
HEAVY_MAX: Final = 200
"""More marks than this, of those that make parsing slow, and a text is not parsed."""
DEPTH_MAX: Final = 2

_NOT_SIMPLE: Final = re.compile(
    r"\\\n|<<|`|\$\{(?![A-Za-z_]\w*\})|\$['\"(]\(|\$['\"]|[<>]\(|\(\(|\[\[|\n[^\S\n]*+\\|\$\["
)
_NOT_PLAIN: Final = re.compile(
    r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"|[\u00ad\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff]"
)
_HEAVY: Final = re.compile(
    r"[|<>!(){}#`\]]|;;|\$\{|\[\[|\b(?:case|in|for|select|if|while|until|do|then|elif|else|fi|done|esac)\b"
)
_SUBSTITUTION: Final = re.compile(r"\$\(|`")
_NAMING: Final = frozenset(
    {"read", "unset", "declare", "typeset", "local", "readonly", "mapfile", "readarray", "getopts", "let"}
)
_EVALUATING: Final = frozenset({"printf", "test", "[", "export", "wait"}) | _NAMING
"""Builtins that evaluate an argument further: a subscript, a name or arithmetic in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One simple command: `text` as written but for quotes; the rest as in `Subject`."""

    text: str
    also: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    writes: bool = False
    opaque: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The segments of a command in the order in which they stand; `reason` says why it is opaque, or ''."""

    command: str
    segments: tuple[Segment, ...] = ()
    reason: str = ""

    @property
    def opaque(self) -> bool:
        """Whether the segments may not be all that would run."""
        return bool(self.reason) or any(segment.opaque for segment in self.segments)

    def subjects(self) -> tuple[Subject, ...]:
        """Return a subject for each segment; an opaque command makes each opaque, and has at least one."""
        blind = bool(self.reason)
        found = [
            Subject(
                text=s.text,
                kind="command",
                also=s.also,
                writes=s.writes,
                opaque=blind or s.opaque,
                loose=s.loose,
            )
            for s in self.segments
        ]
        if blind and all(s.text != self.command.strip() for s in self.segments):
            found.append(Subject(text=self.command.strip(), kind="command", opaque=True))
        return tuple(found)


def analyse(command: str, *, posix: bool = True) -> Analysis:
    """Return the segments of a command; never raises.

    `posix` False means that the configured shell is of another kind.
    """
    reason = _refusal(command, posix=posix)
    if not _is_parsable(command):
        return Analysis(command=command, reason=reason or "it is too long or too tangled")
    script = read_script(command)
    reason = reason or script.unclear
    segments = tuple(_segment(found, 0) for found in script.commands)
    if not segments:
        reason = reason or "it has no command"
    return Analysis(command=command, segments=segments, reason=reason)


def _refusal(command: str, *, posix: bool) -> str:
    if not posix:
        return "the configured shell is not a POSIX shell"
    if _NOT_PLAIN.search(command):
        return "it has a control character or an unusual blank"
    if _NOT_SIMPLE.search(command) or "\n" in command.partition("#")[2]:
        return "it is not in the simple form that can be relied upon"
    return ""


def _is_parsable(command: str) -> bool:
    """Tell whether parsing is quick: error recovery takes time that grows with the square of the length."""
    if len(command) > PARSED_MAX_CHARS or _NOT_PLAIN.search(command):
        return False
    if len(command) > TANGLED_MAX_CHARS and _NOT_SIMPLE.search(command):
        return False
    return sum(1 for _ in _HEAVY.finditer(command)) <= HEAVY_MAX


def _segment(command: Command, depth: int) -> Segment:
    written = [*command.assignments, *command.words]
    inner_texts, inner_loose, inner_reason = _within(command.words, depth)
    whole = [*written, *command.writes]
    text = text_of(whole)
    texts = dict.fromkeys([text_of(written), *inner_texts])
    texts.pop(text, None)
    texts.pop("", None)
    loose = [found for found in (loose_of(whole), loose_of(written), *inner_loose) if found is not None]
    return Segment(
        text=text,
        also=tuple(texts),
        loose=tuple(dict.fromkeys(loose)),
        writes=bool(command.writes),
        opaque=bool(command.unclear or inner_reason or _is_unclear(command)),
    )


def _within(words: list[Word], depth: int) -> tuple[list[str], list[str], str]:
    """Return texts and globs of the command without its assignments and path, and of all that it runs."""
    if not words:
        return [], [], ""
    inner = unwrap(words)
    texts: list[str] = []
    globs: list[str] = []
    for row in (tuple(words), *inner.rows):
        named = (Word(command_name(row[0]), row[0].loose, row[0].odd), *row[1:])
        texts += [text_of(row), text_of(named)]
        globs += [found for found in (loose_of(row), loose_of(named)) if found is not None]
    reason = inner.unclear or _unclear_rows(inner.rows)
    for source in inner.texts:
        segments, nested = _nested(source, depth + 1)
        reason = reason or nested
        for segment in segments:
            texts += [segment.text, *segment.also]
            globs += segment.loose
            reason = reason or ("a command within it is unclear" if segment.opaque else "")
    return texts, globs, reason


def _unclear_rows(rows: list[tuple[Word, ...]]) -> str:
    return "a command within it is unclear" if any(_is_unclear(Command(words=[*row])) for row in rows) else ""


def _nested(source: str, depth: int) -> tuple[list[Segment], str]:
    """Return the segments of a text that a command hands to a shell, and why they may not be all."""
    if depth > DEPTH_MAX or not _is_parsable(source):
        return [], "texts within texts"
    script: Script = read_script(source)
    reason = _refusal(source, posix=True) or script.unclear
    return [_segment(found, depth) for found in script.commands], reason


def _is_unclear(command: Command) -> bool:
    """Tell whether a command's name is not fixed, or its arguments may be run."""
    if len(command.writes) > 1 or any(word.odd for word in (*command.assignments, *command.words)):
        return True
    if any(_SUBSTITUTION.search(word.text or "") for word in command.assignments if word.fixed):
        return True
    if not command.words:
        return False
    name = command.words[0]
    if not name.fixed or not name.text or re.search(r"\s", name.text):
        return True
    return _evaluates(command_name(name), command.words[1:])


def _evaluates(name: str, arguments: list[Word]) -> bool:
    """Tell whether a builtin may run what stands in an argument: names with a subscript, arithmetic."""
    if name not in _EVALUATING:
        return False
    texts = [word.text or "" for word in arguments]
    if any(_SUBSTITUTION.search(text) for word, text in zip(arguments, texts, strict=True) if word.fixed):
        return True
    if name == "printf":
        return "-v" in texts or texts[:1] == ["--"] or (bool(arguments) and not arguments[0].fixed)
    if name in {"test", "["}:
        return "-v" in texts
    return name in _NAMING and any(not word.fixed for word in arguments)
