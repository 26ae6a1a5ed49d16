"""The flags that commands share (cli.md section 2)."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

import click

from hilt.app.config import Config
from hilt.app.flags import Flags
from hilt.app.load import load_config
from hilt.cli.logs import set_up_logging

Callback = Callable[..., object]
Decorator = Callable[[Callback], Callback]

_MANY = {"multiple": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """How a command was called, apart from its own arguments."""

    flags: Flags = field(default_factory=Flags)
    json: bool = False
    quiet: bool = False
    color: bool = True

    def config(self) -> Config:
        """Return the configuration, with logging set up and its warnings told.

        Raises:
            ConfigError: It is wrong.
        """
        config = load_config(self.flags)
        set_up_logging(config, quiet=self.quiet)
        return config


def _option(*names: str, **attributes: object) -> Decorator:
    return click.option(*names, **attributes)  # type: ignore[arg-type]  # what click takes, passed through


OUTPUT: tuple[Decorator, ...] = (
    _option("--json/--no-json", "json", default=False, help="One JSON document on standard output."),
    _option("--quiet/--no-quiet", "quiet", default=False, help="No progress, errors alone in the log."),
    _option("--log-level", metavar="LEVEL", help="debug, info, warning or error."),
    _option("--log-json/--no-log-json", "log_json", default=None, help="Log lines as JSON."),
    _option("--color/--no-color", "color", default=True, help="Colour on a terminal."),
)

SETTINGS: tuple[Decorator, ...] = (
    _option("--workspace", metavar="DIR", help="Root of the files; the current directory by default."),
    _option("--add-dir", "add_dirs", metavar="DIR", **_MANY, help="A further root; repeatable."),
    _option("--trust-project/--no-trust-project", default=False, help="Let the project's allows and hooks count."),
    _option("--permission-config", metavar="FILE", **_MANY, help="Settings of the command line; repeatable."),
    _option("--allow", metavar="RULE", **_MANY, help="A rule that allows; repeatable."),
    _option("--ask", metavar="RULE", **_MANY, help="A rule that asks; repeatable."),
    _option("--deny", metavar="RULE", **_MANY, help="A rule that denies; repeatable."),
    _option("--mode", metavar="MODE", help="plan, default, accept-edits or auto."),
    _option("--tools", metavar="LIST", help="Categories divided by commas, none or all; files.read by default."),
    _option("--store", metavar="STORE", help="memory: or jsonl:DIR."),
)

MODEL: tuple[Decorator, ...] = (
    _option("--model", metavar="MODEL", help="provider/name, or scripted:FILE."),
    _option("--max-turns", type=int, metavar="N", help="Turns of a run; 2,000 by default."),
    _option("--timeout", type=float, metavar="SECONDS", help="Time of a run; none by default."),
    _option("--skills-dir", "skills_dirs", metavar="DIR", **_MANY, help="Explicit skills; repeatable."),
    _option("--skills-draft-dir", metavar="DIR", help="Where drafts of skills go."),
)

SERVERS: tuple[Decorator, ...] = (
    _option("--mcp-server", "mcp_servers", metavar="NAME=URL", **_MANY, help="Connect this server; repeatable."),
    _option(
        "--mcp-server-insecure-http",
        "mcp_insecure",
        metavar="NAME",
        **_MANY,
        help="Allow a token over plain http for this server; repeatable.",
    ),
)

MCP: tuple[Decorator, ...] = (
    _option("--toolhive/--no-toolhive", "toolhive", default=None, help="Use running ToolHive workloads."),
    _option("--toolhive-group", metavar="GROUP", help="The group of workloads; `default` by default."),
    _option(
        "--mcp-resource-tools/--no-mcp-resource-tools",
        "mcp_resource_tools",
        default=None,
        help="ListMcpResources and ReadMcpResource.",
    ),
    _option(
        "--mcp-prompts/--no-mcp-prompts",
        "mcp_prompts",
        default=None,
        help="Prompts of servers as /mcp__SERVER__PROMPT key=value. They steer the model: for trusted servers only.",
    ),
    _option("--mcp-wait", metavar="fast|all", help="Start when the quick servers are ready, or all."),
    _option("--stdio/--no-stdio", "stdio", default=True, help="Never start a server as a process."),
)

FULL = (*SETTINGS, *MODEL, *SERVERS, *MCP)
"""The flags of commands that run a session."""


def takes(*groups: Decorator) -> Decorator:
    """Give a command the flags for output and further ones; it is called with an `Invocation` first."""

    def decorate(callback: Callback) -> Callback:
        @functools.wraps(callback)
        def call(**given: object) -> object:
            return callback(_invocation(given), **given)

        decorated: Callback = call
        for option in reversed((*groups, *OUTPUT)):
            decorated = option(decorated)
        return decorated

    return decorate


def _invocation(given: dict[str, object]) -> Invocation:
    """Return the shared flags, which are taken out of `given`."""
    known = {item.name for item in fields(Flags)}
    values: dict[str, object] = {}
    for name in [name for name in given if name in known]:
        value = given.pop(name)
        if value is not None:
            values[name] = value
    stdio = given.pop("stdio", True)
    return Invocation(
        flags=_flags({**values, "no_stdio": not stdio}),
        json=given.pop("json") is True,
        quiet=given.pop("quiet") is True,
        color=given.pop("color") is True,
    )


def _flags(values: Mapping[str, object]) -> Flags:
    return replace(Flags(), **values)  # type: ignore[arg-type]  # click gives each its type


__all__ = ["FULL", "MCP", "MODEL", "OUTPUT", "SERVERS", "SETTINGS", "Invocation", "takes"]
