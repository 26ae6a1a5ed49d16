"""hilt: the tool layer of AI agents. One catalog, one funnel, for every tool call.

The public names are loaded on first use; importing the package does nothing else.
"""

from importlib import import_module

_PUBLIC = {
    "Agent": "hilt.app.agent",
    "App": "hilt.app.application",
    "Ask": "hilt.ports.permission",
    "AskOpened": "hilt.core.event",
    "AssetNotFound": "hilt.core.skill",
    "Catalog": "hilt.engine.catalog",
    "CatalogFault": "hilt.core.errors",
    "Clock": "hilt.ports.clock",
    "CommsSettings": "hilt.app.settings",
    "Config": "hilt.app.config",
    "ConfigError": "hilt.core.errors",
    "DuplicateToolError": "hilt.core.errors",
    "Environment": "hilt.ports.tool",
    "Event": "hilt.core.event",
    "Flags": "hilt.app.flags",
    "Guardrail": "hilt.engine.guardrail",
    "GuardrailRule": "hilt.core.guardrail",
    "HiltError": "hilt.core.errors",
    "HookAnswer": "hilt.core.hook",
    "HookInput": "hilt.core.hook",
    "HookRan": "hilt.core.event",
    "HttpSkills": "hilt.adapters.skill_http",
    "ImagePart": "hilt.core.content",
    "InvalidSpecError": "hilt.core.errors",
    "Limits": "hilt.core.session",
    "McpServerSpec": "hilt.core.mcp",
    "MessageDelta": "hilt.core.event",
    "Mode": "hilt.core.session",
    "Model": "hilt.ports.model",
    "PeerKey": "hilt.adapters.peer_ed25519",
    "PeerKeys": "hilt.ports.peer",
    "PeerSettings": "hilt.app.settings",
    "RequestError": "hilt.core.errors",
    "RunResult": "hilt.core.event",
    "ScriptedModel": "hilt.testing",
    "Session": "hilt.engine.session",
    "SessionContext": "hilt.app.catalog",
    "SkillAsset": "hilt.core.skill",
    "SkillDirectory": "hilt.adapters.skill_dir",
    "SkillMeta": "hilt.core.skill",
    "SkillNotFound": "hilt.core.skill",
    "SkillSource": "hilt.ports.skill",
    "SkillUnavailableError": "hilt.core.skill",
    "StopReason": "hilt.core.session",
    "StructuredPart": "hilt.core.content",
    "SystemClock": "hilt.adapters.clock_system",
    "TextPart": "hilt.core.content",
    "Tool": "hilt.ports.tool",
    "ToolCall": "hilt.core.tool",
    "ToolCallRecorder": "hilt.ports.store",
    "ToolError": "hilt.core.errors",
    "ToolFilter": "hilt.core.session",
    "ToolProgress": "hilt.core.event",
    "ToolResult": "hilt.core.tool",
    "ToolSettled": "hilt.core.event",
    "ToolSource": "hilt.ports.tool",
    "ToolSpec": "hilt.core.tool",
    "VIA_SESSION": "hilt.app.application",
    "Verdict": "hilt.ports.permission",
    "allow": "hilt.core.host_rules",
    "ask": "hilt.core.host_rules",
    "build": "hilt.app.build",
    "deny": "hilt.core.host_rules",
    "hook": "hilt.engine.function_hook",
    "load_config": "hilt.app.load",
    "tool": "hilt.engine.function_tool",
    "valid_asset_name": "hilt.core.skill",
    "validate_media_url": "hilt.core.address",
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605 - sorted literal names, which a test holds against the stub


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'hilt' has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
