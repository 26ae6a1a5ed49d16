"""MCP servers from every source: flags, operator profiles, the project's and the user's mcp.toml."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hilt.adapters.mcp_approvals_file import McpApprovals
from hilt.adapters.mcp_config_file import read_servers
from hilt.app.config import Source
from hilt.app.flags import Flags
from hilt.app.settings_decode import KeyPath
from hilt.app.settings_mcp import McpProfile, McpSettings, ProfileAuth
from hilt.core.errors import ConfigError
from hilt.core.mcp import ChosenServer, McpServerSpec, ServerOrigin, merge_servers, parse_server_flag
from hilt.core.mcp_entry import admitted
from hilt.core.mcp_url import allow_insecure, check_url

PROJECT_FILE = ".hilt/mcp.toml"
USER_FILE = "mcp.toml"
_DEFAULT_CONNECT_S = McpServerSpec(name="x").connect_timeout_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFile:
    """One mcp.toml, which may be absent; `shown` is what messages call it."""

    path: Path
    shown: str
    origin: ServerOrigin

    @classmethod
    def of_project(cls, root: Path) -> "ServerFile":
        """Return the file of the workspace."""
        return cls(path=root / PROJECT_FILE, shown=PROJECT_FILE, origin="project")

    @classmethod
    def of_user(cls, folder: Path, *, shown: str) -> "ServerFile":
        """Return the file in the user's configuration folder."""
        return cls(path=folder / USER_FILE, shown=f"{shown}/{USER_FILE}", origin="user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The servers that won their names, the project's that want approval, and what has to be told."""

    chosen: tuple[ChosenServer, ...] = ()
    withheld: tuple[McpServerSpec, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a project's entries need: a trusted workspace, or the approval of exactly that entry."""

    root: Path
    trusted: bool
    state_dir: Path

    def split(self, specs: Sequence[McpServerSpec]) -> tuple[list[McpServerSpec], list[McpServerSpec]]:
        """Return the entries that may be connected, and the others."""
        approved = McpApprovals(self.state_dir).approved(self.root)
        fine = [spec for spec in specs if admitted(spec, trusted=self.trusted, approved=approved)]
        return fine, [spec for spec in specs if spec not in fine]


def load_servers(
    flags: Flags,
    settings: McpSettings,
    files: Sequence[ServerFile],
    admission: Admission,
    *,
    sources: Mapping[KeyPath, tuple[Source, ...]],
) -> Servers:
    """Return the servers of all sources, the first source winning a name (MCP-04).

    A project's entry that is not admitted wins nothing: it can neither be connected nor hide another.

    Raises:
        ConfigError: An entry or flag is wrong, or a server starts a process although that is forbidden.
    """
    given = [parse_server_flag(text) for text in flags.mcp_servers]
    for spec in given:
        check_url(spec)
    where = sources.get(("mcp", "servers"), (Source(),))[0]
    profiles, warnings = _profiles(settings.servers, where)
    found = [spec for f in files for spec in read_servers(f.path, origin=f.origin, shown=f.shown)]
    entries, withheld = admission.split(found)
    patient = [_patient(spec, settings.connect_timeout_s) for spec in (*given, *profiles, *entries)]
    chosen = merge_servers(patient)
    lifted = allow_insecure([one.spec for one in chosen], flags.mcp_insecure)
    chosen = [replace(one, spec=spec) for one, spec in zip(chosen, lifted, strict=True)]
    if flags.no_stdio:
        _check_no_stdio(chosen)
    return Servers(chosen=tuple(chosen), withheld=tuple(withheld), warnings=tuple(warnings))


def _patient(spec: McpServerSpec, connect_timeout_s: float) -> McpServerSpec:
    if spec.connect_timeout_s == _DEFAULT_CONNECT_S:
        return replace(spec, connect_timeout_s=float(connect_timeout_s))
    return spec


def _profiles(profiles: Sequence[McpProfile], where: Source) -> tuple[list[McpServerSpec], list[str]]:
    """Return the profiles that can be used, and why each other one is left out.

    Raises:
        ConfigError: One that is required cannot be used, or an address is not allowed.
    """
    specs: list[McpServerSpec] = []
    warnings: list[str] = []
    for profile in profiles:
        lacks = _lacks(profile.auth)
        text = f"MCP server {profile.name!r}: {lacks}"
        if lacks and profile.required:
            raise ConfigError(text, source=where.name, line=where.line, key="mcp.servers")
        if lacks:
            warnings.append(f"{text}; the server is not used")
        else:
            specs.append(_spec(profile, where))
    return specs, warnings


def _lacks(auth: ProfileAuth) -> str:
    """Return why a profile cannot present its credentials, "" where it can; it is never used without them."""
    if auth.mode == "oauth":
        return "auth.mode oauth is not part of this version"
    if auth.mode == "static_bearer" and auth.token_env is None:
        return "auth.mode static_bearer needs token_env"
    return ""


def _spec(profile: McpProfile, where: Source) -> McpServerSpec:
    bearer = profile.auth.mode == "static_bearer"
    spec = McpServerSpec(
        name=profile.name,
        url=profile.url,
        required=profile.required,
        headers={"Authorization": f"Bearer ${{{profile.auth.token_env}}}"} if bearer else {},
        origin="profile",
        source=where.name,
    )
    check_url(spec)
    return spec


def _check_no_stdio(chosen: Sequence[ChosenServer]) -> None:
    names = [repr(one.spec.name) for one in chosen if one.spec.transport == "stdio" and one.spec.enabled]
    if names:
        raise ConfigError(
            f"would start a process for MCP server {', '.join(names)}; leave it out or disable it",
            source="--no-stdio",
        )
