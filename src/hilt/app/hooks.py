"""The hooks and guardrails of the settings as runners: commands, URLs, reviewers."""

import logging
from collections.abc import Callable

from hilt.adapters.hook_command import CommandHook
from hilt.adapters.hook_http import HttpHook
from hilt.app.config import Config, HookDefinition
from hilt.core.guardrail import GuardrailRule
from hilt.core.mcp_entry import MissingVariableError, expand
from hilt.engine.guardrail import Guardrail
from hilt.engine.guardrail_model import ModelReviewer
from hilt.engine.guardrail_patterns import PatternReviewer
from hilt.ports.guardrail import Reviewer
from hilt.ports.hook import HookRunner
from hilt.ports.model import Model

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


def guardrails_of(config: Config, load_model: Callable[[], Model]) -> list[Guardrail]:
    """Return the guardrails of the settings with their reviewers; the reviewer `model` asks the loaded model.

    Raises:
        ConfigError: A pattern cannot be compiled, or the model cannot be loaded.
    """
    found: list[Guardrail] = []
    for settings in config.guardrails:
        rule = GuardrailRule(
            match=settings.match,
            direction=settings.direction,
            mode=settings.mode,
            on_failure=settings.on_failure,
            reviewer=settings.name or settings.reviewer,
        )
        asks = settings.reviewer == "model"
        reviewer: Reviewer = ModelReviewer(load_model()) if asks else PatternReviewer(settings.patterns)
        found.append(Guardrail(rule=rule, reviewer=reviewer))
    return found
