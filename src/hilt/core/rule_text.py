"""Rules as text: reading, printing, and the rule that stands for exactly one call."""

import re
from collections.abc import Collection
from typing import Final

from hilt.core.errors import ConfigError
from hilt.core.pattern import escape, unescape
from hilt.core.permission import Effect, PermissionRule, Scope, Subject, Subjects

_TOOL: Final = re.compile(r"(?:\\.|[^\\(])*", re.DOTALL)
_BODY: Final = re.compile(r"(?:\\.|[^\\])*", re.DOTALL)
_ITEM: Final = re.compile(r"(?:\\.|[^\\,])*", re.DOTALL)
_KEY: Final = re.compile(r"\s*((?:\\.|[^\\,=])+)=", re.DOTALL)
_TOOL_SPECIAL: Final = re.compile(r"[\\*?(]")
_COMMA: Final = r"\,"
_KEY_SPECIAL: Final = re.compile(r"[\\,=*?\s]")

Pairs = tuple[tuple[str, str], ...]


def parse_rule(
    text: str, *, effect: Effect, scope: Scope = Scope.CLI, source: str = "", line: int = 0, column: int = 1
) -> PermissionRule:
    """Read `TOOL` or `TOOL(BODY)`; `column` is where the text begins in its line, counted from 1.

    Raises:
        ConfigError: The text is no rule; names source, line, column and, in a file, the key.
    """
    problem = _problem(text)
    if problem is not None:
        offset, message = problem
        key = f" of permissions.{effect}" if line else ""  # a rule with a line stands in a settings file
        reason = f"column {column + offset}: {message} in the rule {text!r}{key}"
        raise ConfigError(reason, source=source, line=line)
    tool = _tool_part(text)
    body = text[len(tool) + 1 : -1] if len(tool) < len(text) else None
    return PermissionRule(effect=effect, tool=tool, body=body, scope=scope, source=source, line=line)


def _tool_part(text: str) -> str:
    match = _TOOL.match(text)
    return match.group() if match else ""


def _problem(text: str) -> tuple[int, str] | None:
    """Return place and kind of the first mistake, or None."""
    if text != text.strip():
        return (len(text.rstrip()) if text == text.lstrip() else 0), "a blank at the beginning or end"
    tool = _tool_part(text)
    rest = text[len(tool) :]
    if not tool and rest != "\\":
        return 0, "the name of a tool is missing"
    if not rest:
        return None
    if rest[0] == "\\":
        return len(tool), "nothing follows the backslash"
    if not rest.endswith(")"):
        last = rest.rfind(")")
        return (
            (len(tool), "the bracket is not closed") if last < 0 else (len(tool) + last + 1, "text after the bracket")
        )
    if not _BODY.fullmatch(rest[1:-1]):
        return len(text) - 1, "the backslash takes the closing bracket literally"
    return None


def format_rule(rule: PermissionRule) -> str:
    """Return the text that `parse_rule` reads as the same tool and body."""
    return rule.tool if rule.body is None else f"{rule.tool}({rule.body})"


def pairs(body: str, keys: Collection[str]) -> Pairs | None:
    """Return the `key=pattern` pairs of a body, or None where it is one unnamed pattern.

    What is written `key=` opens a pair only if `keys` has it; else it belongs to the pattern it stands in.
    """
    found: list[list[str]] = []
    place = 0
    while place <= len(body):
        item = _ITEM.match(body, place)
        end = item.end() if item else place
        opened = _KEY.match(body, place, end) if keys else None
        key = unescape(opened.group(1)) if opened else ""
        if opened and key in keys:
            found.append([key, body[opened.end() : end]])
        elif found:
            found[-1][1] += body[place - 1 : end]
        else:
            return None
        place = end + 1
    return tuple((key, pattern) for key, pattern in found)


def mentioned_keys(body: str) -> frozenset[str]:
    """Return what stands in a body as `key=` where a pair could begin, whether or not a tool has it."""
    found: set[str] = set()
    place = 0
    while place <= len(body):
        item = _ITEM.match(body, place)
        end = item.end() if item else place
        opened = _KEY.match(body, place, end)
        if opened:
            found.add(unescape(opened.group(1)))
        place = end + 1
    return frozenset(found)


def rememberable(subjects: Subjects) -> bool:
    """Tell whether one rule can stand for exactly this call: not for several segments or an unclear one."""
    unnamed = subjects.unnamed or ()
    named = False
    for group in subjects.named.values():
        if group:
            named = True
            if len(group) > 1 or group[0].opaque:
                return False
    if not named and len(unnamed) > 1:
        return False
    return not any(subject.opaque for subject in unnamed)


def grant_rule(tool: str, subjects: Subjects, *, scope: Scope = Scope.LOCAL_PROJECT) -> PermissionRule:
    """Return the allow rule for this call alone: all its subjects as literal patterns.

    A path stands with its resolved spelling, so that a link that is turned elsewhere is another call.

    Raises:
        ValueError: No rule can stand for the call, see `rememberable`.
    """
    if not rememberable(subjects):
        raise ValueError(f"no single rule stands for this call of {tool!r}")
    name = _TOOL_SPECIAL.sub(r"\\\g<0>", tool)
    return PermissionRule(effect=Effect.ALLOW, tool=name, body=_literal_body(subjects), scope=scope)


def _literal_body(subjects: Subjects) -> str:
    if not any(subjects.named.values()):
        return _literal(subjects.unnamed[0]) if subjects.unnamed else ""
    written = [(key, _literal(group[0])) for key, group in sorted(subjects.named.items()) if group]
    return ",".join(_KEY_SPECIAL.sub(r"\\\g<0>", key) + "=" + text.replace(",", r"\,") for key, text in written)


def _literal(subject: Subject) -> str:
    text = subject.also[-1] if subject.kind == "path" and subject.also else subject.text
    return escape(text)
