"""`hilt permissions`: which rule decides, which rules do nothing, which recorded calls would change."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from hilt.app.application import App
from hilt.app.categories import CATEGORY_TOOLS
from hilt.app.explain import Desk, Replay, lint_rules, replay
from hilt.cli.command import HiltGroup
from hilt.cli.failure import FAILED
from hilt.cli.flags import MCP, SERVERS, SETTINGS, Invocation, takes
from hilt.cli.output import print_json, print_table
from hilt.cli.running import Signals, with_app
from hilt.core.errors import ConfigError, ErrorCode
from hilt.core.permission import Decision, PermissionRule
from hilt.core.rule_lint import Finding
from hilt.core.rule_text import format_rule
from hilt.engine.explain import Explained

FLAGS = (*SETTINGS, *SERVERS, *MCP)


@click.group(
    cls=HiltGroup,
    help="Explain and check rules.",
    examples=('hilt permissions why shell \'{"command": "git status"}\'', "hilt permissions lint"),
)
def command() -> None:
    """Group the commands."""


def place(rule: PermissionRule) -> str:
    """Return file and line of a rule, or the flag or scope it comes from."""
    if rule.line:
        return f"{rule.source}:{rule.line}"
    return rule.source or str(rule.scope)


def _rule_json(rule: PermissionRule | None) -> dict[str, object] | None:
    if rule is None:
        return None
    text = format_rule(rule)
    return {"effect": rule.effect, "rule": text, "scope": rule.scope, "source": rule.source, "line": rule.line}


def _rule_text(rule: PermissionRule) -> str:
    return f"{rule.effect} {format_rule(rule)}  ({rule.scope}, {place(rule)})"


@command.command(
    "why",
    help="Say what would be decided on a call of TOOL with ARGS (JSON), by which rule, and which rules lost."
    " 1 means that no such tool is there.",
    examples=(
        'hilt permissions why Write \'{"path": "docs/a.md", "content": ""}\'',
        'hilt permissions why shell \'{"command": "git status; rm -rf x"}\' --mode auto',
    ),
)
@click.argument("tool")
@click.argument("args", default="{}")
@takes(*FLAGS)
def why(invocation: Invocation, tool: str, args: str) -> int:
    """Explain one call."""

    async def work(app: App, _: Signals) -> Explained:
        return await (await Desk.of(app)).why(tool, args)

    explained = with_app(invocation.config(), work)
    _tell_why(invocation, explained)
    missing = explained.refusal is not None and explained.refusal.code is ErrorCode.TOOL_NOT_FOUND
    return FAILED if missing else 0


def _tell_why(invocation: Invocation, explained: Explained) -> None:
    if invocation.json:
        print_json(_explained_json(explained))
        return
    for line in _told(explained):
        click.echo(line)


def _explained_json(explained: Explained) -> dict[str, object]:
    decision, refusal = explained.decision, explained.refusal
    return {
        "tool": explained.tool,
        "effect": None if decision is None else decision.effect,
        "reason": decision.reason if decision is not None else "" if refusal is None else str(refusal),
        "code": "" if refusal is None else refusal.code,
        "rule": _rule_json(None if decision is None else decision.rule),
        "subjects": [
            {
                "subject": verdict.subject,
                "effect": verdict.effect,
                "reason": verdict.reason,
                "rule": _rule_json(verdict.rule),
                "lost": [_rule_json(rule) for rule in verdict.lost],
            }
            for verdict in (explained.explanation.subjects if explained.explanation is not None else ())
        ],
        "targets": [_explained_json(target) for target in explained.targets],
    }


def off_hint(tool: str) -> str:
    """Return how to enable the category of a built-in tool that is not in the catalog, "" for any other name."""
    category = next((name for name, tools in CATEGORY_TOOLS.items() if tool in tools), None)
    return "" if category is None else f" (a tool of the category {category!r}: enable it with --tools {category})"


def _told(explained: Explained, indent: str = "") -> Iterator[str]:
    if explained.decision is None:
        reason = "" if explained.refusal is None else explained.refusal.message(explained.tool)
        if explained.refusal is not None and explained.refusal.code is ErrorCode.TOOL_NOT_FOUND:
            reason += off_hint(explained.tool)
        yield f"{indent}{explained.tool}: refused before any rule: {reason}"
        return
    yield f"{indent}{explained.tool}: {_decided(explained.decision)}"
    for verdict in explained.explanation.subjects if explained.explanation is not None else ():
        if verdict.subject:
            why = verdict.reason if verdict.rule is None else _rule_text(verdict.rule)
            yield f"{indent}  {verdict.subject!r}: {verdict.effect}, {why}"
        for rule in verdict.lost:
            yield f"{indent}    lost: {_rule_text(rule)}"
    for target in explained.targets:
        yield from _told(target, indent + "  ")


def _decided(decision: Decision) -> str:
    rule = decision.rule
    return f"{decision.effect}, {decision.reason}" if rule is None else f"{decision.effect} by {_rule_text(rule)}"


@command.command(
    "lint",
    help="Report rules that do nothing: no such tool or key, shadowed, twice, or without trust. 1 means findings.",
    examples=("hilt permissions lint", "hilt permissions lint --tools all --json"),
)
@takes(*FLAGS)
def lint(invocation: Invocation) -> int:
    """Check the rules."""

    async def work(app: App, _: Signals) -> list[Finding]:
        return lint_rules(app, await Desk.of(app))

    return _tell_findings(invocation, with_app(invocation.config(), work))


def _tell_findings(invocation: Invocation, findings: Sequence[Finding]) -> int:
    if invocation.json:
        print_json(
            {"findings": [{"kind": f.kind, "message": f.message, **(_rule_json(f.rule) or {})} for f in findings]}
        )
    elif findings:
        print_table([(place(f.rule), f.kind, f.message) for f in findings])
    else:
        click.echo("Nothing wrong.")
    return 1 if findings else 0


@command.command(
    "replay",
    help="Decide the calls of an audit file (….tools.jsonl) anew and list those that change.",
    examples=("hilt permissions replay ses_1.tools.jsonl --deny 'shell(rm:*)'",),
)
@click.argument("file")
@takes(*FLAGS)
def replay_(invocation: Invocation, file: str) -> None:
    """Decide the recorded calls."""
    text = _audit(file)

    async def work(app: App, _: Signals) -> Replay:
        return await replay(await Desk.of(app), text, source=file)

    _tell_replay(invocation, with_app(invocation.config(), work))


def _tell_replay(invocation: Invocation, found: Replay) -> None:
    if invocation.json:
        changes = [
            {
                "line": c.line,
                "call_id": c.call_id,
                "tool": c.tool,
                "before": c.before,
                "after": c.after,
                "rule": _rule_json(c.rule),
                "reason": c.reason,
            }
            for c in found.changes
        ]
        print_json({"calls": found.calls, "changes": changes})
        return
    rows = [
        (str(c.line), c.tool, f"{c.before} → {c.after}", c.reason if c.rule is None else _rule_text(c.rule))
        for c in found.changes
    ]
    print_table(rows, ("LINE", "TOOL", "CHANGE", "BY") if rows else ())
    click.echo(f"{len(found.changes)} of {found.calls} calls would be decided otherwise.")


def _audit(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot be read: {reason}", source=file) from None
