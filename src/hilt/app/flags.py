"""The flags that commands share (cli.md section 2), as one value; None and () mean not given."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hilt.app.categories import CATEGORY_TOOLS, PARTIAL
from hilt.app.settings import Settings
from hilt.app.settings_decode import KeyPath, Leaf, decode_value
from hilt.app.settings_shape import Key, SectionShape, section


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the command line says; `timeout` in seconds, `tools` divided by commas, or `none` or `all`."""

    workspace: str | None = None
    add_dirs: tuple[str, ...] = ()
    trust_project: bool = False
    permission_config: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    mode: str | None = None
    model: str | None = None
    tools: str | None = None
    max_turns: int | None = None
    timeout: float | None = None
    skills_dirs: tuple[str, ...] = ()
    skills_draft_dir: str | None = None
    store: str | None = None
    mcp_servers: tuple[str, ...] = ()
    mcp_insecure: tuple[str, ...] = ()
    mcp_resource_tools: bool | None = None
    mcp_prompts: bool | None = None
    mcp_wait: str | None = None
    toolhive: bool | None = None
    toolhive_group: str | None = None
    no_stdio: bool = False
    log_level: str | None = None
    log_json: bool | None = None
    listen: str | None = None
    auth_token_file: str | None = None
    cors_origins: tuple[str, ...] = ()
    rate_limit: float | None = None


# Flag → the key of the settings that it gives.
_KEYS: dict[str, tuple[str, str]] = {
    "mode": ("--mode", "mode"),
    "model": ("--model", "model"),
    "max_turns": ("--max-turns", "limits.max_turns"),
    "timeout": ("--timeout", "limits.max_seconds"),
    "skills_dirs": ("--skills-dir", "skills.dirs"),
    "skills_draft_dir": ("--skills-draft-dir", "skills.draft_dir"),
    "store": ("--store", "sessions.store"),
    "mcp_resource_tools": ("--mcp-resource-tools", "mcp.resource_tools"),
    "mcp_prompts": ("--mcp-prompts", "mcp.prompts"),
    "mcp_wait": ("--mcp-wait", "mcp.wait"),
    "toolhive": ("--toolhive", "mcp.toolhive"),
    "toolhive_group": ("--toolhive-group", "mcp.toolhive_group"),
    "log_level": ("--log-level", "log.level"),
    "log_json": ("--log-json", "log.json"),
    "listen": ("--listen", "serve.listen"),
    "auth_token_file": ("--auth-token-file", "serve.auth.token_file"),
    "cors_origins": ("--cors-origin", "serve.cors_origins"),
    "rate_limit": ("--rate-limit", "serve.rate_limit"),
}
_VARIABLES = {
    "HILT_MODEL": "model",
    "HILT_STORE": "sessions.store",
    "HILT_LOG": "log.level",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A value of the settings that a flag or variable gives."""

    name: str
    leaf: Leaf


def of_flags(flags: Flags) -> Iterator[Given]:
    """Yield what the flags say about settings.

    Raises:
        ConfigError: A value is not of its type; names the flag.
    """
    for field_name, (flag, key) in _KEYS.items():
        value: object = getattr(flags, field_name)
        if value is not None and value != ():
            yield _given(flag, key, value)
    if flags.tools is not None:
        yield _given("--tools", "tools.enable", _categories(flags.tools))
    for effect in ("allow", "ask", "deny"):
        rules: tuple[str, ...] = getattr(flags, effect)
        if rules:
            yield _given(f"--{effect}", f"permissions.{effect}", rules)


def of_variables(environment: Mapping[str, str]) -> Iterator[Given]:
    """Yield what the environment says about settings; an empty variable says nothing.

    Raises:
        ConfigError: A value is not of its type; names the variable.
    """
    for name, key in _VARIABLES.items():
        if environment.get(name):
            yield _given(name, key, environment[name])


def _categories(text: str) -> tuple[str, ...]:
    match text.strip():
        case "none" | "":
            return ()
        case "all":
            return tuple(sorted(set(CATEGORY_TOOLS) - PARTIAL))
        case words:
            return tuple(word.strip() for word in words.split(",") if word.strip())


def _given(name: str, dotted_key: str, value: object) -> Given:
    path: KeyPath = tuple(dotted_key.split("."))
    key, adds = _key(path)
    decoded = decode_value(key.shape, value, source=name, path=path)
    lines = (0,) * len(decoded) if isinstance(decoded, tuple) else ()
    return Given(name=name, leaf=Leaf(path=path, value=decoded, line=0, lines=lines, adds=adds))


def _key(path: KeyPath) -> tuple[Key, bool]:
    shape, adds = section(Settings), False
    for name in path[:-1]:
        below = shape.keys[name]
        adds = adds or below.adds
        if isinstance(below.shape, SectionShape):
            shape = below.shape
    key = shape.keys[path[-1]]
    return key, adds or key.adds
