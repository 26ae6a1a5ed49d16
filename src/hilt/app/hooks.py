"""The hooks and guardrails of the settings as runners: commands, URLs, reviewers."""

import logging

from hilt.adapters.hook_command import CommandHook
from hilt.adapters.hook_http import HttpHook
from hilt.app.config import Config, HookDefinition
from hilt.core.errors import ConfigError
from hilt.core.guardrail import GuardrailRule
from hilt.core.mcp_entry import MissingVariableError, expand
from hilt.engine.guardrail import Guardrail
from hilt.engine.guardrail_patterns import PatternReviewer
from hilt.ports.hook import HookRunner

logger = logging.getLogger(__name__)


def hook_runners(config: Config) -> list[HookRunner]:
    """Return the hooks of the settings in their order; one whose variable is missing is left out with a WARN."""
    runners: list[HookRunner] = []
    for definition in config.hook_definitions:
        try:
            runners.append(_runner(definition, config))
        except MissingVariableError as exc:
            logger.warning("hook_left_out hook=%s why=%s", definition.name, exc)
    return runners


def _runner(definition: HookDefinition, config: Config) -> HookRunner:
    if definition.command:
        return CommandHook(
            name=definition.name,
            event=definition.event,
            command=definition.command,
            cwd=config.workspace_root or None,
            match=definition.match,
            timeout_s=definition.timeout_s,
            on_failure=definition.on_failure,
        )
    return HttpHook(
        name=definition.name,
        event=definition.event,
        url=expand(definition.url, config.environment, field="url"),
        headers={
            key: expand(value, config.environment, field=f"headers.{key}") for key, value in definition.headers.items()
        },
        match=definition.match,
        timeout_s=definition.timeout_s,
        on_failure=definition.on_failure,
    )


def guardrails_of(config: Config) -> list[Guardrail]:
    """Return the guardrails of the settings with their reviewers.

    Raises:
        ConfigError: A reviewer is not part of this version.
    """
    found: list[Guardrail] = []
    for number, settings in enumerate(config.guardrails):
        if settings.reviewer != "patterns":
            raise ConfigError(
                f"reviewer {settings.reviewer!r} is not part of this version; use 'patterns'",
                source=str(config.source("guardrails")),
                key=f"guardrails[{number}].reviewer",
            )
        rule = GuardrailRule(
            match=settings.match,
            direction=settings.direction,
            mode=settings.mode,
            on_failure=settings.on_failure,
            reviewer=settings.name or settings.reviewer,
        )
        found.append(Guardrail(rule=rule, reviewer=PatternReviewer()))
    return found
