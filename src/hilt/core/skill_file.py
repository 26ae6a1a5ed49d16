"""Reads a SKILL.md: front matter with name and description, and the body; says which rule a bad one breaks."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hilt.core.errors import ConfigError
from hilt.core.front_matter import Document, read_document
from hilt.core.skill import SkillMeta, SkillRuleError, meta_fault
from hilt.core.yaml_document import Located

FILE_MAX_BYTES: Final = 1024 * 1024

_KNOWN: Final = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_TOOL: Final = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_OTHER_SHOWN: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """A good SKILL.md; the body is as written, without blank lines around it."""

    meta: SkillMeta
    body: str


def parse_skill(content: bytes, *, folder: str | None = None) -> SkillFile:
    """Return the skill of a file; `folder` is the name that it must have, None where it has no directory yet.

    Raises:
        SkillRuleError: It breaks a rule; names it and, where there is one, the line.
    """
    document = _document(content)
    if not document.fenced:
        raise SkillRuleError("the file does not start with front matter, which is a line '---'", line=1)
    values = document.values
    meta = SkillMeta(
        name=_required(values, "name"),
        description=_required(values, "description"),
        license=_text(values, "license"),
        compatibility=_text(values, "compatibility"),
        metadata=_texts(values, "metadata"),
        allowed_tools=_tools(values),
        other={key: _plain_text(value) for key, value in values.items() if key not in _KNOWN},
        notes=tuple(_notes(document)),
    )
    fault = meta_fault(meta)
    if fault:
        raise SkillRuleError(fault, line=_line(values, fault.partition(":")[0]))
    if folder is not None and meta.name != folder:
        line = _line(values, "name")
        raise SkillRuleError(f"name: {meta.name!r} is not the name of its directory, {folder!r}", line=line)
    return SkillFile(meta=meta, body=document.body.strip("\n"))


def skill_text(name: str, description: str, body: str) -> str:
    """Return the text of a SKILL.md with these; nothing is checked."""
    quoted = json.dumps(description, ensure_ascii=False)
    return f"---\nname: {name}\ndescription: {quoted}\n---\n\n{body.strip()}\n"


def _document(content: bytes) -> Document:
    if len(content) > FILE_MAX_BYTES:
        raise SkillRuleError(f"the file is over {FILE_MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise SkillRuleError("the file is not UTF-8 text", line=content.count(b"\n", 0, exc.start) + 1) from None
    if "\0" in text:
        raise SkillRuleError("the file holds a NUL", line=text.count("\n", 0, text.index("\0")) + 1)
    try:
        return read_document(text, source="SKILL.md")
    except ConfigError as exc:
        raise SkillRuleError(exc.reason, line=exc.line or 0) from None


def _notes(document: Document) -> list[str]:
    notes = [f"{key}: it ends at a ' #', which begins a comment; quotes keep the rest" for key in document.cut]
    others = sorted(set(document.values) - _KNOWN)
    return [*notes, f"keys that the format does not know: {', '.join(others)}"] if others else notes


def _required(values: Mapping[str, Located], key: str) -> str:
    if key not in values:
        raise SkillRuleError(f"{key}: it is missing", line=1)
    text = _text(values, key)
    if not text:
        raise SkillRuleError(f"{key}: it is empty", line=_line(values, key))
    return text


def _text(values: Mapping[str, Located], key: str) -> str:
    value = values.get(key)
    if value is None:
        return ""
    if not isinstance(value.value, str):
        raise SkillRuleError(f"{key}: it is a text", line=value.line)
    return value.value.strip()


def _texts(values: Mapping[str, Located], key: str) -> Mapping[str, str]:
    value = values.get(key)
    if value is None or value.value in (None, ""):
        return {}
    if not isinstance(value.value, Mapping):
        raise SkillRuleError(f"{key}: it is a mapping of keys to texts", line=value.line)
    return {name: _text(value.value, name) for name in value.value}


def _tools(values: Mapping[str, Located]) -> tuple[str, ...]:
    """Return the entries of a list, or the words of a text; what stands in brackets belongs to its word."""
    value = values.get("allowed-tools")
    if value is not None and isinstance(value.value, tuple):
        return tuple(_plain_text(item) for item in value.value)
    return tuple(_TOOL.findall(_text(values, "allowed-tools")))


def _line(values: Mapping[str, Located], key: str) -> int:
    found = values.get(key)
    return 1 if found is None else found.line


def _plain_text(value: Located) -> str:
    """Return a value of a key that the format does not know as one text: as it is, or as JSON, cut."""
    text = value.value if isinstance(value.value, str) else json.dumps(_plain(value), ensure_ascii=False)
    return text if len(text) <= _OTHER_SHOWN else text[:_OTHER_SHOWN] + "…"


def _plain(value: Located) -> object:
    match value.value:
        case Mapping() as inner:
            return {key: _plain(item) for key, item in inner.items()}
        case tuple() as inner:
            return [_plain(item) for item in inner]
        case plain:
            return plain
