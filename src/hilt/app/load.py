"""Reads settings files, the environment and flags, once, into a `Config`; no other module does."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from hilt.adapters.permission_file import PermissionFiles, RuleFile, read_settings, rules_of
from hilt.app.categories import checked_categories
from hilt.app.config import (
    PROJECT,
    SCOPES,
    Config,
    Layer,
    Rank,
    Screened,
    configured,
    hooks_of,
    merge,
    screen,
)
from hilt.app.flags import Flags, of_flags, of_variables
from hilt.app.load_mcp import Admission, ServerFile, load_servers
from hilt.app.root_user import is_contained
from hilt.app.settings import Settings
from hilt.app.settings_decode import decode_document
from hilt.app.settings_shape import section
from hilt.app.skill_places import placed, withheld
from hilt.app.trust import is_trusted, left_out
from hilt.core.errors import ConfigError
from hilt.core.permission import Effect, PermissionRule, Scope
from hilt.core.rule_text import parse_rule
from hilt.core.yaml_document import parse_yaml

MANAGED_FILE = "/etc/hilt/settings.yaml"
SHARED_FILE = ".hilt/settings.yaml"
LOCAL_FILE = ".hilt/settings.local.yaml"
USER_FILE = "settings.yaml"
ENABLE = ("tools", "enable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Locations:
    """Where configuration and state lie on this machine; `managed` is the file of its administrator."""

    home: Path
    user_config_dir: Path
    state_dir: Path
    managed: Path = Path(MANAGED_FILE)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Locations":
        """Return the places that HOME and the XDG variables name; relative XDG paths are passed over."""
        home = Path(environment.get("HOME") or Path.home())
        return cls(
            home=home,
            user_config_dir=_xdg(environment, "XDG_CONFIG_HOME", home / ".config") / "hilt",
            state_dir=_xdg(environment, "XDG_STATE_HOME", home / ".local" / "state") / "hilt",
        )

    def shown(self, path: Path) -> str:
        """Return the path as messages name it."""
        return shown_path(path, self.home)


def _xdg(environment: Mapping[str, str], name: str, default: Path) -> Path:
    value = environment.get(name, "")
    return Path(value) if os.path.isabs(value) else default


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """One file of settings that counts if it is there; `must_exist` for one that a flag names."""

    rank: Rank
    path: Path
    shown: str
    must_exist: bool = False


@cache
def process_environment() -> Mapping[str, str]:
    """Return the environment as this process first saw it."""
    return MappingProxyType(dict(os.environ))


def load_config(
    flags: Flags | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    locations: Locations | None = None,
) -> Config:
    """Return the configuration that files, environment and flags give; absent ones are this process's own.

    Raises:
        ConfigError: A file, variable or flag is wrong; names it, and line and key where it has them.
    """
    flags = flags or Flags()
    variables = dict(process_environment() if environment is None else environment)
    places = locations or Locations.of(variables)
    root = workspace_of(flags, variables, cwd or Path.cwd())
    files = settings_files(flags, root=root, cwd=cwd or Path.cwd(), places=places)
    layers = [*(_file_layer(file) for file in files), *_given_layers(flags, variables)]
    trusted = flags.trust_project or is_trusted(root, _trusted_projects(layers))
    screened = [screen(layer, trusted=trusted) for layer in layers]
    settings = merge(one.layer for one in screened)
    rules = tuple(_flag_rules(flags))
    rule_files = tuple(RuleFile(path=str(f.path), shown=f.shown, scope=SCOPES[f.rank]) for f in files)
    PermissionFiles(rule_files, rules, trusted=trusted).read()
    config = configured(settings, hooks_of(one.layer for one in screened))
    admission = Admission(root=root, trusted=trusted, state_dir=places.state_dir)
    servers = load_servers(
        flags, config.mcp, server_files(root, places.user_config_dir, places.home), admission, sources=settings.sources
    )
    more = [("MCP servers", len(servers.withheld)), *(() if trusted else withheld(root, config.skills))]
    return replace(
        config,
        workspace_root=str(root),
        extra_roots=_extra_roots(flags, config, root=root, cwd=cwd or Path.cwd(), home=places.home),
        skills=placed(config, root=root, cwd=cwd or Path.cwd(), home=places.home),
        home=str(places.home),
        user_config_dir=str(places.user_config_dir),
        state_dir=str(places.state_dir),
        environment=MappingProxyType(variables),
        trusted=trusted,
        sandboxed=is_contained(variables),
        no_stdio=flags.no_stdio,
        rule_files=rule_files,
        rule_flags=rules,
        mcp_servers=servers.chosen,
        mcp_withheld=servers.withheld,
        warnings=(*_warnings(screened, more), *servers.warnings),
    )


def workspace_of(flags: Flags, variables: Mapping[str, str], cwd: Path) -> Path:
    """Return the root of the workspace: the flag, else the variable, else the current directory.

    Raises:
        ConfigError: It is no directory.
    """
    named = (("--workspace", flags.workspace), ("HILT_WORKSPACE", variables.get("HILT_WORKSPACE")))
    source, chosen = next(((name, value) for name, value in named if value), ("", str(cwd)))
    root = Path(os.path.normpath(cwd / chosen))
    if not root.is_dir():
        raise ConfigError(f"{chosen!r} is no directory", source=source or None)
    return root


def server_files(root: Path, user_config_dir: Path, home: Path) -> tuple[ServerFile, ServerFile]:
    """Return the project's mcp.toml and the user's."""
    shown = shown_path(user_config_dir, home)
    return ServerFile.of_project(root), ServerFile.of_user(user_config_dir, shown=shown)


def shown_path(path: Path, home: Path) -> str:
    """Return the path as messages name it: `~` for the home directory."""
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def settings_files(flags: Flags, *, root: Path, cwd: Path, places: Locations) -> list[SettingsFile]:
    """Return the files of settings that count, whether or not they exist."""
    user = places.user_config_dir / USER_FILE
    return [
        SettingsFile(rank=Rank.MANAGED, path=places.managed, shown=str(places.managed)),
        *(
            SettingsFile(rank=Rank.CLI_FILE, path=cwd / name, shown=name, must_exist=True)
            for name in flags.permission_config
        ),
        SettingsFile(rank=Rank.LOCAL_PROJECT, path=root / LOCAL_FILE, shown=LOCAL_FILE),
        SettingsFile(rank=Rank.SHARED_PROJECT, path=root / SHARED_FILE, shown=SHARED_FILE),
        SettingsFile(rank=Rank.USER, path=user, shown=places.shown(user)),
    ]


def read_layer(text: str, *, rank: Rank, shown: str) -> Layer:
    """Return what a settings text gives.

    Raises:
        ConfigError: It is no YAML, a key or value is wrong, or a category unknown; names file, line and dotted key.
    """
    document = parse_yaml(text, source=shown)
    rules_of(document, scope=SCOPES[rank], source=shown)
    leaves = decode_document(section(Settings), document, source=shown)
    for leaf in leaves:
        if leaf.path == ENABLE and isinstance(leaf.value, tuple):
            for name, line in zip(leaf.value, leaf.lines, strict=True):
                checked_categories([name], source=shown, line=line)
    return Layer(rank=rank, kind="file", name=shown, leaves=leaves)


def _file_layer(file: SettingsFile) -> Layer:
    text = read_settings(str(file.path), shown=file.shown)
    if text is None and file.must_exist:
        raise ConfigError("there is no such file", source=file.shown)
    return read_layer(text or "", rank=file.rank, shown=file.shown)


def _given_layers(flags: Flags, variables: Mapping[str, str]) -> list[Layer]:
    layers = [Layer(rank=Rank.FLAG, kind="flag", name=given.name, leaves=(given.leaf,)) for given in of_flags(flags)]
    for given in of_variables(variables):
        layers.append(Layer(rank=Rank.VARIABLE, kind="variable", name=given.name, leaves=(given.leaf,)))
    return layers


def _trusted_projects(layers: Sequence[Layer]) -> tuple[str, ...]:
    own = [layer for layer in layers if layer.rank not in PROJECT]
    return configured(merge(own)).trust.projects


def _flag_rules(flags: Flags) -> list[PermissionRule]:
    return [
        parse_rule(text, effect=effect, scope=Scope.CLI, source=f"--{effect}")
        for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY)
        for text in getattr(flags, effect.value)
    ]


def _extra_roots(flags: Flags, config: Config, *, root: Path, cwd: Path, home: Path) -> tuple[str, ...]:
    named = [("--add-dir", cwd / name, name) for name in flags.add_dirs]
    for name in config.workspace.extra_roots:
        named.append((str(config.source("workspace.extra_roots")), _from(root, name, home), name))
    for source, path, name in named:
        if not path.is_dir():
            raise ConfigError(f"{name!r} is no directory", source=source)
    return tuple(dict.fromkeys(os.path.normpath(path) for _, path, _ in named))


def _from(root: Path, name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else root / name


def _warnings(screened: Sequence[Screened], more: Sequence[tuple[str, int]]) -> list[str]:
    keys = [key for one in screened for key in one.operator_keys]
    told = [f"operator keys of a project's file are not used: {', '.join(keys)}"] if keys else []
    counts = [(what, count) for one in screened for what, count in one.untrusted.items()]
    untrusted = left_out([*counts, *more])
    return [*told, untrusted] if untrusted else told
