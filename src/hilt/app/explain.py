"""Explains and checks the rules of an application: `hilt permissions`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hilt.adapters.permission_file import PermissionFiles
from hilt.app.application import App
from hilt.core.errors import ConfigError, ToolError
from hilt.core.permission import Effect, PermissionRule, Subject
from hilt.core.rule_lint import Finding, ToolFacts, lint
from hilt.core.session import Mode, SessionId, SessionRecord
from hilt.core.tool import ToolCall
from hilt.engine.catalog import Entry
from hilt.engine.conversation import Conversation
from hilt.engine.explain import Explained, explain
from hilt.engine.funnel import Parts
from hilt.engine.visibility import Visibility

_NOBODY = ("no approver was present", "the person who was asked denied it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The parts of a session as it would be created now, with its mode and filters."""

    parts: Parts
    mode: Mode
    visibility: Visibility

    @classmethod
    async def of(cls, app: App) -> "Desk":
        """Assemble them.

        Raises:
            ConfigError: A settings file with rules has an error.
        """
        record = SessionRecord(id=SessionId(""), mode=app.config.mode, workspace=app.workspace)
        assembly = await app.assembler(record, ())
        visibility = Visibility(tuple(assembly.layers))
        if assembly.bind is not None:
            assembly.bind(Conversation(mode=record.mode, visibility=visibility))
        return cls(parts=assembly.parts, mode=record.mode, visibility=visibility)

    async def why(self, tool: str, arguments: str, *, mode: Mode | None = None) -> Explained:
        """Return what dispatch would decide on a call of `tool` with these arguments, as JSON text."""
        call = ToolCall("why", tool, arguments)
        return await explain(self.parts, call, mode=mode or self.mode, visibility=self.visibility)


def lint_rules(app: App, desk: Desk) -> list[Finding]:
    """Return the rules that do nothing.

    Raises:
        ConfigError: A settings file with rules has an error.
    """
    files = PermissionFiles(app.config.rule_files, app.config.rule_flags, trusted=app.config.trusted)
    tools = {entry.spec.name: _facts(entry) for entry in desk.parts.catalog.entries()}
    return lint(desk.parts.rules.rules, tools, withheld=files.withheld())


def _facts(entry: Entry) -> ToolFacts:
    """Return what a tool shows to patterns, by asking it about a call with its required arguments."""
    schema = entry.spec.schema
    properties = schema.get("properties")
    table: Mapping[str, object] = properties if isinstance(properties, Mapping) else {}
    own = getattr(entry.tool, "subjects", None)
    if not callable(own):
        return ToolFacts(keys=frozenset(table))
    required = schema.get("required")
    sample = {str(key): _sample(table.get(str(key))) for key in (required if isinstance(required, list) else ())}
    try:
        subjects = own(ToolCall("lint", entry.spec.name, json.dumps(sample), arguments=sample))
    except ToolError:
        return ToolFacts(keys=frozenset(table), unnamed="text")
    unnamed: Sequence[Subject] | None = subjects.unnamed
    kind = None if unnamed is None else unnamed[0].kind if unnamed else "text"
    return ToolFacts(keys=frozenset(subjects.named), unnamed=kind)


def _sample(schema: object) -> object:
    known = schema if isinstance(schema, Mapping) else {}
    words = known.get("enum")
    if isinstance(words, list) and words:
        return words[0]
    samples: dict[object, object] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}
    return samples.get(known.get("type"), "x")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A recorded call that would be decided otherwise now."""

    line: int
    call_id: str
    tool: str
    before: str
    after: str
    rule: PermissionRule | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """How many recorded calls were decided anew, and those that change."""

    calls: int
    changes: Sequence[Change] = field(default_factory=tuple)


async def replay(desk: Desk, text: str, *, source: str) -> Replay:
    """Decide the calls of an audit file anew, each in the mode that it had.

    Raises:
        ConfigError: A line is no record of a call; names it.
    """
    calls = 0
    changes: list[Change] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        record = _record(line, source, number)
        calls += 1
        before = _before(record)
        explained = await desk.why(str(record["tool"]), _arguments(record.get("args")), mode=_mode(record, desk.mode))
        after = _after(explained)
        if before != after:
            changes.append(_change(record, explained, number=number, before=before, after=after))
    return Replay(calls=calls, changes=changes)


def _change(record: Mapping[str, object], explained: Explained, *, number: int, before: str, after: str) -> Change:
    decision = explained.decision
    return Change(
        line=number,
        call_id=str(record.get("call_id", "")),
        tool=str(record["tool"]),
        before=before,
        after=after,
        rule=None if decision is None else decision.rule,
        reason=str(explained.refusal) if decision is None else decision.reason,
    )


def _record(line: str, source: str, number: int) -> Mapping[str, object]:
    try:
        record: object = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, Mapping) or record.get("type") != "tool_call" or not isinstance(record.get("tool"), str):
        raise ConfigError("is no record of a tool call", source=source, line=number)
    return record


def _arguments(args: object) -> str:
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)


def _mode(record: Mapping[str, object], default: Mode) -> Mode:
    mode = str(record.get("mode"))
    return Mode(mode) if mode in tuple(Mode) else default


def _before(record: Mapping[str, object]) -> str:
    """Return the recorded effect: a verdict stands for an ask, a call that no rule saw for its error."""
    decision = record.get("decision")
    if decision in ("allow_once", "allow_always"):
        return str(Effect.ASK)
    if decision == "deny" and any(text in str(record.get("result", "")) for text in _NOBODY):
        return str(Effect.ASK)
    return str(decision or record.get("code") or "")


def _after(explained: Explained) -> str:
    if explained.decision is None:
        return "" if explained.refusal is None else str(explained.refusal.code)
    return str(explained.decision.effect)
