"""Slash commands: the text of a command file or skill with its placeholders filled from what was typed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hilt.core.errors import ConfigError
from hilt.core.front_matter import read_document
from hilt.core.words import split_words
from hilt.core.yaml_document import Located

COMMAND_FILE_MAX_BYTES: Final = 256 * 1024

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_PLACEHOLDER: Final = re.compile(
    r"(?P<literal>\\)?\$(?:(?P<all>ARGUMENTS(?![A-Za-z0-9_]))|(?P<digit>[1-9](?![0-9]))|\{(?P<number>[1-9][0-9]+)\})"
)
_NUMBER_MAX_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """A command as it is listed: `kind` is command, skill, source or prompt; `place` says where it comes from."""

    name: str
    kind: str
    description: str = ""
    argument_hint: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFile:
    """A command file: what it is called and the template that takes its arguments."""

    entry: CommandEntry
    template: str


def valid_command_name(name: str) -> bool:
    """Tell whether `/name` can be typed: letters, digits, `-`, `_` and `.`."""
    return _NAME.fullmatch(name) is not None


def command_parts(line: str) -> tuple[str, str]:
    """Return the name of a line that begins with `/`, and the text behind it, trimmed."""
    name, *rest = line.removeprefix("/").split(maxsplit=1)
    return name, rest[0].strip() if rest else ""


def fill(template: str, text: str) -> str:
    r"""Return the template with what was typed behind the command's name put in, in one pass.

    `$ARGUMENTS` is the whole text, `$1` to `$9` and `${10}` and up are its words, empty past the last. `\$1` gives
    `$1`; every other `$` stays. Without a placeholder a text that is not empty is appended. What was put in is not
    looked at again.

    Raises:
        OpenQuoteError: A quote in the text is not closed.
    """
    words = split_words(text)
    filled = 0

    def value(found: re.Match[str]) -> str:
        nonlocal filled
        if found["literal"]:
            return found[0][1:]
        filled += 1
        if found["all"]:
            return text
        number = found["digit"] or found["number"]
        at = int(number) if len(number) <= _NUMBER_MAX_DIGITS else len(words) + 1
        return words[at - 1] if at <= len(words) else ""

    out = _PLACEHOLDER.sub(value, template)
    return f"{out}\n\nARGUMENTS: {text}" if text and not filled else out


def parse_command(text: str, *, name: str, place: str) -> CommandFile:
    """Return the command of a file; without front matter the first line of the text describes it.

    Raises:
        ConfigError: Its front matter cannot be read; names place and line.
    """
    document = read_document(text, source=place, flow=True)
    body = document.body.strip("\n")
    first = next((line.strip("# \t") for line in body.splitlines() if line.strip("# \t")), "")
    return CommandFile(
        entry=CommandEntry(
            name=name,
            kind="command",
            description=_text(document.values, "description", place) or first,
            argument_hint=_text(document.values, "argument-hint", place),
            place=place,
        ),
        template=body,
    )


def _text(values: Mapping[str, Located], key: str, place: str) -> str:
    value = values.get(key)
    if value is None:
        return ""
    if isinstance(value.value, tuple):  # a hint such as [file] [line] is written as a list without being meant as one
        return f"[{', '.join(str(item.value) for item in value.value)}]"
    if not isinstance(value.value, str):
        raise ConfigError(f"{key} is a text", source=place, line=value.line)
    return value.value.strip()
