"""Adds one allow to a settings file, so that everything else in it stays as it was written."""

import json
import re
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from hilt.adapters._files import replace_file
from hilt.adapters.permission_file.reading import read_settings, rules_of
from hilt.core.errors import ConfigError
from hilt.core.permission import Effect, Scope
from hilt.core.rule_text import format_rule
from hilt.core.yaml_document import Located, parse_yaml

LOCK_WAIT_S: Final = 10.0
_NOT_PRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_LINE_MAX: Final = 1_000_000


def add_allow(path: str, rule: str, *, shown: str) -> None:
    """Add a rule to `permissions.allow` of a settings file; a rule that it has is left alone.

    The file is made if need be, replaced in one step, and of two additions at once none is lost.

    Raises:
        ConfigError: The file is broken or cannot be written, or the rule cannot be added to it.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock"), timeout=LOCK_WAIT_S):
            text = read_settings(path, shown=shown) or ""
            if rule not in _allows(parse_yaml(text, source=shown), shown):
                content = with_allow(text, rule, shown=shown).encode("utf-8")
                replace_file(target, content, new_mode=0o644)
    except Timeout:
        raise ConfigError("is being changed by another process; try again", source=shown) from None
    except OSError as exc:
        raise ConfigError(f"cannot be written: {exc.strerror}", source=shown) from None


def _allows(document: Located, shown: str) -> list[str]:
    rules = rules_of(document, scope=Scope.LOCAL_PROJECT, source=shown)
    return [format_rule(rule) for rule in rules if rule.effect is Effect.ALLOW]


def with_allow(text: str, rule: str, *, shown: str) -> str:
    """Return a settings text with one more allow, at the end of the list; the rest is as it was written.

    Raises:
        ConfigError: It cannot be added so that the text reads as the same settings and the rule.
    """
    wanted = [*_allows(parse_yaml(text, source=shown), shown), rule]
    ways: tuple[Callable[[str, str], str | None], ...] = (_inserted, _rewritten)
    for way in ways:
        changed = way(text, rule)
        if changed is not None and _reads_as(changed, text, wanted, shown):
            return changed
    raise ConfigError("the rule cannot be added here; write it by hand", source=shown, key="permissions.allow")


def _reads_as(changed: str, text: str, allows: list[str], shown: str) -> bool:
    try:
        changed.encode("utf-8")
        after, before = parse_yaml(changed, source=shown), parse_yaml(text, source=shown)
        return _allows(after, shown) == allows and _others(after) == _others(before)
    except (ConfigError, UnicodeEncodeError):
        return False


def _others(document: Located) -> object:
    """Return the settings without places and without the allows."""
    plain = _plain(document)
    root = dict(plain) if isinstance(plain, dict) else {}
    permissions = root.pop("permissions", None)
    kept = dict(permissions) if isinstance(permissions, dict) else {}
    kept.pop("allow", None)
    return root, kept


def _plain(node: Located) -> object:
    match node.value:
        case tuple() as items:
            return [_plain(item) for item in items]
        case dict() as table:
            return {key: _plain(value) for key, value in table.items()}
        case value:
            return value


def _quoted(rule: str) -> str:
    escaped = _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(rule, ensure_ascii=False))
    return escaped


def _inserted(text: str, rule: str) -> str | None:
    """Return the text with the rule put in at its place, None where there is no simple place."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    newline = "\r\n" if "\r\n" in body else "\n"
    root = YAML(typ="safe", pure=True).compose(body)
    item = _quoted(rule)
    if root is None:
        return mark + _after_line(body, len(body), newline, ["permissions:", "  allow:", f"    - {item}"])
    if not _is_block(root):
        return None
    permissions = _child(root, "permissions")
    if permissions is None:
        lead = " " * root.start_mark.column
        lines = [f"{lead}permissions:", f"{lead}  allow:", f"{lead}    - {item}"]
        return mark + _after_line(body, len(body), newline, lines)
    changed = _in_permissions(body, permissions, item, newline)
    return None if changed is None else mark + changed


def _in_permissions(text: str, permissions: tuple[Node, Node], item: str, newline: str) -> str | None:
    key, value = permissions
    lead = " " * key.start_mark.column
    if _is_nothing(value):
        return _after_line(text, key.end_mark.index, newline, [f"{lead}  allow:", f"{lead}    - {item}"])
    if not _is_block(value):
        return None
    allow = _child(value, "allow")
    if allow is None:
        inner = " " * value.value[0][0].start_mark.column
        return _after_line(text, key.end_mark.index, newline, [f"{inner}allow:", f"{inner}  - {item}"])
    return _in_allow(text, allow, item, newline)


def _in_allow(text: str, allow: tuple[Node, Node], item: str, newline: str) -> str | None:
    key, value = allow
    if _is_nothing(value):
        lead = " " * key.start_mark.column
        return _after_line(text, key.end_mark.index, newline, [f"{lead}  - {item}"])
    if not isinstance(value, SequenceNode):
        return None
    if value.flow_style:
        place = value.value[-1].end_mark.index if value.value else value.start_mark.index + 1
        return text[:place] + (", " if value.value else "") + item + text[place:]
    first = value.value[0].start_mark
    lead = text[first.index - first.column : first.index].partition("-")[0]
    return _after_line(text, value.value[-1].end_mark.index, newline, [f"{lead}- {item}"])


def _is_block(node: Node) -> bool:
    return isinstance(node, MappingNode) and not node.flow_style


def _is_nothing(node: Node) -> bool:
    """Whether a value is left out: null without a letter of its own."""
    return isinstance(node, ScalarNode) and node.start_mark.index == node.end_mark.index and not node.style


def _child(node: Node, name: str) -> tuple[Node, Node] | None:
    pairs: Iterator[tuple[Node, Node]] = iter(node.value)
    return next(((key, value) for key, value in pairs if key.value == name), None)


def _after_line(text: str, place: int, newline: str, lines: list[str]) -> str:
    """Return the text with lines put in behind the line that `place` is in."""
    end = text.find("\n", place)
    if end < 0:
        before, after = (text + newline if text and not text.endswith("\n") else text), ""
    else:
        before, after = text[: end + 1], text[end + 1 :]
    return before + "".join(line + newline for line in lines) + after


def _rewritten(text: str, rule: str) -> str | None:
    """Return the text as the YAML library writes it: comments and order stay, indentation may change."""
    editor = YAML(typ="rt", pure=True)
    editor.preserve_quotes = True
    editor.width = _LINE_MAX
    document: object = editor.load(text)
    if not isinstance(document, CommentedMap):
        return None
    permissions = document.get("permissions") or document.setdefault("permissions", CommentedMap())
    if permissions.get("allow") is None:
        permissions["allow"] = CommentedSeq()
    permissions["allow"].append(DoubleQuotedScalarString(rule))
    out = StringIO()
    editor.dump(document, out)
    return out.getvalue()
