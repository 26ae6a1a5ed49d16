"""Types of the public names, for checkers; see `__init__.py` for how they are loaded."""

from hilt.adapters.clock_system import SystemClock as SystemClock
from hilt.adapters.peer_ed25519 import PeerKey as PeerKey
from hilt.adapters.skill_dir import SkillDirectory as SkillDirectory
from hilt.adapters.skill_http import HttpSkills as HttpSkills
from hilt.app.agent import Agent as Agent
from hilt.app.application import VIA_SESSION as VIA_SESSION
from hilt.app.application import App as App
from hilt.app.build import build as build
from hilt.app.catalog import SessionContext as SessionContext
from hilt.app.config import Config as Config
from hilt.app.flags import Flags as Flags
from hilt.app.load import load_config as load_config
from hilt.app.settings import CommsSettings as CommsSettings
from hilt.app.settings import PeerSettings as PeerSettings
from hilt.core.address import validate_media_url as validate_media_url
from hilt.core.content import ImagePart as ImagePart
from hilt.core.content import StructuredPart as StructuredPart
from hilt.core.content import TextPart as TextPart
from hilt.core.errors import (
    CatalogFault as CatalogFault,
)
from hilt.core.errors import (
    ConfigError as ConfigError,
)
from hilt.core.errors import (
    DuplicateToolError as DuplicateToolError,
)
from hilt.core.errors import (
    HiltError as HiltError,
)
from hilt.core.errors import (
    InvalidSpecError as InvalidSpecError,
)
from hilt.core.errors import (
    RequestError as RequestError,
)
from hilt.core.errors import (
    ToolError as ToolError,
)
from hilt.core.event import (
    AskOpened as AskOpened,
)
from hilt.core.event import (
    Event as Event,
)
from hilt.core.event import (
    HookRan as HookRan,
)
from hilt.core.event import (
    MessageDelta as MessageDelta,
)
from hilt.core.event import (
    RunResult as RunResult,
)
from hilt.core.event import (
    ToolProgress as ToolProgress,
)
from hilt.core.event import (
    ToolSettled as ToolSettled,
)
from hilt.core.guardrail import GuardrailRule as GuardrailRule
from hilt.core.hook import HookAnswer as HookAnswer
from hilt.core.hook import HookInput as HookInput
from hilt.core.host_rules import allow as allow
from hilt.core.host_rules import ask as ask
from hilt.core.host_rules import deny as deny
from hilt.core.mcp import McpServerSpec as McpServerSpec
from hilt.core.session import Limits as Limits
from hilt.core.session import Mode as Mode
from hilt.core.session import StopReason as StopReason
from hilt.core.session import ToolFilter as ToolFilter
from hilt.core.skill import (
    AssetNotFound as AssetNotFound,
)
from hilt.core.skill import (
    SkillAsset as SkillAsset,
)
from hilt.core.skill import (
    SkillMeta as SkillMeta,
)
from hilt.core.skill import (
    SkillNotFound as SkillNotFound,
)
from hilt.core.skill import (
    SkillUnavailableError as SkillUnavailableError,
)
from hilt.core.skill import (
    valid_asset_name as valid_asset_name,
)
from hilt.core.tool import ToolCall as ToolCall
from hilt.core.tool import ToolResult as ToolResult
from hilt.core.tool import ToolSpec as ToolSpec
from hilt.engine.catalog import Catalog as Catalog
from hilt.engine.function_hook import hook as hook
from hilt.engine.function_tool import tool as tool
from hilt.engine.guardrail import Guardrail as Guardrail
from hilt.engine.session import Session as Session
from hilt.ports.clock import Clock as Clock
from hilt.ports.model import Model as Model
from hilt.ports.peer import PeerKeys as PeerKeys
from hilt.ports.permission import Ask as Ask
from hilt.ports.permission import Verdict as Verdict
from hilt.ports.skill import SkillSource as SkillSource
from hilt.ports.store import ToolCallRecorder as ToolCallRecorder
from hilt.ports.tool import Environment as Environment
from hilt.ports.tool import Tool as Tool
from hilt.ports.tool import ToolSource as ToolSource
from hilt.testing import ScriptedModel as ScriptedModel

__all__: list[str]
