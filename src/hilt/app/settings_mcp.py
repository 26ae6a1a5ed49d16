"""The part of the settings that is about MCP servers: how the client behaves, and operator profiles."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from hilt.app.settings_shape import OPERATOR, Bounds, Written

SecretVariable = Annotated[
    str, Written("the name of a variable that begins with HILT_ or MCP_", (r"(HILT|MCP)_[A-Za-z0-9_]+",))
]
Url = Annotated[
    str,
    Written(
        "an http or https URL without user, password and fragment",
        (r"[hH][tT][tT][pP][sS]?://[^\s/?#@\\]+([/?][^\s#\\]*)?",),
    ),
]
ServerName = Annotated[
    str,
    Written(
        "a server name: 1 to 64 of A-Z a-z 0-9 _ -, no two of _ - side by side and none at the end",
        (r"[A-Za-z0-9_-]{1,64}", r"[_-]?([A-Za-z0-9]+[_-])*[A-Za-z0-9]+"),
    ),
]
Name = Annotated[str, Written("a text that is not empty", (r"[\s\S]*\S[\s\S]*",))]


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthUpstream:
    """The protocol of the authorisation server."""

    mode: Literal["oidc", "oauth2"] = "oidc"
    authorization_endpoint: Url | None = None
    token_endpoint: Url | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """How hilt is known to the authorisation server."""

    mode: Literal["auto", "cimd", "preregistered", "dcr"] = "auto"
    document_url: Url | None = None
    id: str | None = None
    secret_env: SecretVariable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthCredentials:
    """Where the grant is kept: in files of this machine, or in a variable."""

    mode: Literal["local", "environment"] = "local"
    key: Literal["auto", "file", "env"] = "auto"
    key_env: SecretVariable | None = None
    root: str | None = None
    credential_env: SecretVariable | None = None
    allow_process_local_refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthNetwork:
    """What may be reached besides the server and the issuer."""

    additional_origins: tuple[str, ...] = ()
    private_origins: tuple[str, ...] = ()
    max_redirects: Annotated[int, Bounds(least=0, most=5)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthProfile:
    """A grant by OAuth: whose it is, who issues it, what it admits."""

    profile: Name
    principal: Name
    issuer: Url
    upstream: OAuthUpstream = field(default_factory=OAuthUpstream)
    client: OAuthClient = field(default_factory=OAuthClient)
    scopes: tuple[str, ...]
    request_refresh_token: bool = True
    credentials: OAuthCredentials = field(default_factory=OAuthCredentials)
    network: OAuthNetwork = field(default_factory=OAuthNetwork)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileAuth:
    """What a connection to the server presents; blocks that `mode` does not choose stand idle."""

    mode: Literal["none", "static_bearer", "oauth"] = "none"
    token_env: SecretVariable | None = None
    oauth: OAuthProfile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpProfile:
    """One server of the operator."""

    name: ServerName
    url: Url
    required: bool = False
    auth: ProfileAuth = field(default_factory=ProfileAuth)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """The MCP client; times in seconds, sizes in bytes."""

    mode: Annotated[Literal["global", "broker"], OPERATOR] = "global"
    servers: Annotated[tuple[McpProfile, ...], OPERATOR] = ()
    toolhive: Annotated[bool, OPERATOR] = True
    toolhive_group: Annotated[str, OPERATOR] = "default"
    resource_tools: bool = True
    prompts: bool = True
    wait: Literal["fast", "all"] = "all"
    connect_timeout_s: float = 30
    live_catalog: bool = False
    max_message_bytes: int = 64 * 1024 * 1024
