"""Types of the public names, for checkers; see `__init__.py` for how they are loaded."""

from hilt.adapters.clock_system import SystemClock as SystemClock
from hilt.app.agent import Agent as Agent
from hilt.app.application import App as App, VIA_SESSION as VIA_SESSION
from hilt.app.build import build as build
from hilt.app.catalog import SessionContext as SessionContext
from hilt.core.content import ImagePart as ImagePart, StructuredPart as StructuredPart, TextPart as TextPart
from hilt.core.errors import (
    CatalogFault as CatalogFault,
    ConfigError as ConfigError,
    DuplicateToolError as DuplicateToolError,
    HiltError as HiltError,
    InvalidSpecError as InvalidSpecError,
    RequestError as RequestError,
    ToolError as ToolError,
)
from hilt.core.event import Event as Event, RunResult as RunResult
from hilt.core.guardrail import GuardrailRule as GuardrailRule
from hilt.core.hook import HookAnswer as HookAnswer, HookInput as HookInput
from hilt.core.host_rules import allow as allow, ask as ask, deny as deny
from hilt.core.mcp import McpServerSpec as McpServerSpec
from hilt.core.session import (
    Limits as Limits,
    Mode as Mode,
    StopReason as StopReason,
    ToolFilter as ToolFilter,
)
from hilt.core.tool import ToolCall as ToolCall, ToolResult as ToolResult, ToolSpec as ToolSpec
from hilt.engine.catalog import Catalog as Catalog
from hilt.engine.function_hook import hook as hook
from hilt.engine.function_tool import tool as tool
from hilt.engine.guardrail import Guardrail as Guardrail
from hilt.engine.session import Session as Session
from hilt.ports.clock import Clock as Clock
from hilt.ports.model import Model as Model
from hilt.ports.permission import Ask as Ask, Verdict as Verdict
from hilt.ports.store import ToolCallRecorder as ToolCallRecorder
from hilt.ports.tool import Environment as Environment, Tool as Tool, ToolSource as ToolSource
from hilt.testing import ScriptedModel as ScriptedModel

__all__: list[str]
