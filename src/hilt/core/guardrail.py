"""Guardrails as values: which data a reviewer sees, and what it found (permissions-hooks.md section 10)."""

from collections.abc import Mapping
from typing import Literal

from hilt.core.frozen import frozen
from hilt.core.hook import OnFailure
from hilt.core.tool import ToolResult

Direction = Literal["in", "out"]
GuardrailMode = Literal["block", "advisory"]
Payload = Mapping[str, object] | ToolResult

REVIEW_TIMEOUT_S = 30.0


@frozen
class GuardrailRule:
    """Which calls are reviewed and what a finding does.

    `match` holds globs over tool names, empty for all. `direction` "in" reviews arguments before execution,
    "out" results before the model sees them. `on_failure` says what a reviewer that fails or is late means.
    """

    match: tuple[str, ...] = ()
    direction: Direction = "out"
    mode: GuardrailMode = "block"
    on_failure: OnFailure = "block"
    reviewer: str = "patterns"


@frozen
class Finding:
    """What a reviewer objects to; the reason quotes nothing of the data."""

    guardrail: str
    reason: str
