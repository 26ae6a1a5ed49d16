"""Looks for everything that is wrong with what was configured, and changes nothing: `hilt doctor`."""

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import anyio

from hilt.app.application import App
from hilt.app.build import build
from hilt.app.config import Config
from hilt.app.explain import Desk, lint_rules
from hilt.app.flags import Flags
from hilt.app.load import load_config
from hilt.app.load_model import load_model
from hilt.app.stored import StoredSessions
from hilt.app.stores import takes_files
from hilt.core.errors import ConfigError, HiltError
from hilt.core.mcp_entry import MissingVariableError, expand
from hilt.core.permission import PermissionRule
from hilt.mcp.manager import ServerReport

State = Literal["ok", "note", "wrong"]
SERVERS_S = 20.0
WHOLE_S = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one look found. `place` is the line to mend, "" where there is none."""

    subject: str
    state: State
    message: str
    place: str = ""


async def examine(flags: Flags) -> list[Check]:
    """Return what was found, within a minute; without a configuration that loads only that is told."""
    try:
        config = load_config(flags)
    except ConfigError as exc:
        place = f"{exc.source}:{exc.line}" if exc.source and exc.line else exc.source or ""
        return [Check(subject="settings", state="wrong", message=str(exc), place=place)]
    checks = [Check(subject="settings", state="ok", message="files, variables and flags are right")]
    checks += [Check(subject="settings", state="note", message=warning) for warning in config.warnings]
    checks += _places(config)
    checks += [_model(config)]
    checks += list(_hooks(config))
    checks += await _sessions(config)
    with anyio.move_on_after(WHOLE_S) as scope:
        checks += await _running(config)
    if scope.cancelled_caught:
        checks.append(Check(subject="application", state="wrong", message=f"did not start within {WHOLE_S:g} s"))
    return checks


def _places(config: Config) -> Iterator[Check]:
    workspace = Path(config.workspace_root)
    if os.access(workspace, os.R_OK | os.W_OK | os.X_OK):
        yield Check(subject="workspace", state="ok", message=str(workspace))
    else:
        yield Check(subject="workspace", state="wrong", message=f"{workspace} cannot be read and written")
    if config.sessions.store.startswith("jsonl:"):
        folder = Path(config.sessions.store.removeprefix("jsonl:") or Path(config.state_dir) / "sessions")
        fine = takes_files(folder)
        message = f"sessions are stored in {folder}" if fine else f"sessions cannot be stored in {folder}"
        yield Check(
            subject="store", state="ok" if fine else "wrong", message=message, place=_source(config, "sessions.store")
        )


async def _sessions(config: Config) -> list[Check]:
    try:
        with StoredSessions(config) as stored:
            damaged = await stored.damaged()
    except HiltError as exc:
        return [Check(subject="sessions", state="wrong", message=str(exc))]
    if not damaged:
        return [Check(subject="sessions", state="ok", message="every stored session can be read")]
    return [Check(subject="sessions", state="wrong", message=f"{what}; move it away") for what in damaged]


def _source(config: Config, key: str) -> str:
    source = config.source(key)
    return "" if source.kind == "default" else str(source)


def _model(config: Config) -> Check:
    if not config.model:
        return Check(subject="model", state="note", message="none was chosen; give --model or set `model`")
    place = _source(config, "model")
    if importlib.util.find_spec("pydantic_ai") is None and not config.model.startswith("scripted:"):
        message = f"{config.model} needs an extra: pip install 'hilt[models]'"
        return Check(subject="model", state="wrong", message=message, place=place)
    try:
        model = load_model(config.model, config.environment)
    except HiltError as exc:
        return Check(subject="model", state="wrong", message=str(exc), place=place)
    return Check(subject="model", state="ok", message=f"{model.name} can be used", place=place)


def _hooks(config: Config) -> Iterator[Check]:
    for hook in config.hook_definitions:
        place = f"{hook.source}:{hook.line}"
        try:
            for text in (hook.url, *hook.headers.values()):
                expand(text, config.environment, field=f"hook {hook.name}")
        except MissingVariableError as exc:
            yield Check(subject="hooks", state="wrong", message=str(exc), place=place)
            continue
        word = hook.command.split()[0] if hook.command.strip() else ""
        if word.startswith(("./", "/")) and not os.access(Path(config.workspace_root) / word, os.X_OK):
            yield Check(
                subject="hooks",
                state="wrong",
                message=f"hook {hook.name!r} starts {word!r}, which cannot be run",
                place=place,
            )
        else:
            yield Check(subject="hooks", state="ok", message=f"{hook.name} on {hook.event}", place=place)


async def _running(config: Config) -> Sequence[Check]:
    """Start the application with every server made optional, so that one that is down hides nothing else."""
    servers = tuple(
        replace(
            one, spec=replace(one.spec, required=False, connect_timeout_s=min(one.spec.connect_timeout_s, SERVERS_S))
        )
        for one in config.mcp_servers
    )
    mild = replace(config, mcp_servers=servers, mcp=replace(config.mcp, wait="all"))
    try:
        async with build(config=mild, store="memory:") as app:
            rules = await _rules(app)
            reports = {report.name: report for manager in app.mcp for report in manager.reports()}
            return [_tools(app), *rules, *_servers(config, reports)]
    except HiltError as exc:
        return [Check(subject="application", state="wrong", message=str(exc))]


def _tools(app: App) -> Check:
    return Check(subject="tools", state="ok", message=f"{len(app.catalog.names)} in the catalog")


async def _rules(app: App) -> list[Check]:
    findings = lint_rules(app, await Desk.of(app))
    if not findings:
        return [Check(subject="rules", state="ok", message="every rule can count")]
    return [Check(subject="rules", state="wrong", message=f.message, place=_place(f.rule)) for f in findings]


def _place(rule: PermissionRule) -> str:
    return f"{rule.source}:{rule.line}" if rule.line else rule.source


def _servers(config: Config, reports: Mapping[str, ServerReport]) -> Iterator[Check]:
    for one in config.mcp_servers:
        spec, report = one.spec, reports.get(one.spec.name)
        if not spec.enabled:
            yield Check(subject="mcp", state="note", message=f"{spec.name} is disabled", place=spec.source)
        elif report is None:
            message = f"{spec.name} is left out; a variable that it names is not set"
            yield Check(subject="mcp", state="wrong", message=message, place=spec.source)
        elif report.state != "ready":
            message = f"{spec.name} cannot be reached: {report.cause or report.state}"
            yield Check(subject="mcp", state="wrong", message=message, place=spec.source)
        else:
            yield Check(
                subject="mcp", state="ok", message=f"{spec.name}: {report.tools} tools, {report.connect_s:.1f} s"
            )
            for tool in report.withheld:
                yield Check(
                    subject="mcp", state="note", message=f"{spec.name} withholds a tool: {tool}", place=spec.source
                )
    for spec in config.mcp_withheld:
        message = f"{spec.name} waits for trust or approval"
        yield Check(subject="mcp", state="note", message=message, place=spec.source)
