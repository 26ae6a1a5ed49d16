"""Which addresses an MCP server may have, and which of them may be sent a secret."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import SplitResult, urlsplit

from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec, same_name_key

INSECURE_FLAG = "--mcp-server-insecure-http"
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
_DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


def _split(url: str) -> SplitResult | None:
    if not url or any(ord(c) <= 0x20 or ord(c) == 0x7F or c == "\\" for c in url):
        return None
    try:
        parts = urlsplit(url)
        usable = parts.port is None or parts.port > 0
    except ValueError:
        return None
    return parts if usable and parts.scheme.lower() in _DEFAULT_PORTS and parts.hostname else None


def shown_url(url: str) -> str:
    """Return the URL without query, fragment and user info, as messages and listings show it."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else f"{host}{parts.path}"
    except ValueError:
        return "(a malformed URL)"


def check_url(spec: McpServerSpec) -> None:
    """Check that the entry's URL is absolute http or https with a host, and without user info or fragment.

    Raises:
        ConfigError: It is not; shows neither query nor user info.
    """
    where = f"MCP server {spec.name!r}"
    parts = _split(spec.url)
    if parts is None:
        raise ConfigError(
            f"{where}: {shown_url(spec.url)!r} is no absolute http or https URL with a host",
            source=spec.source or None,
            key="url",
        )
    if "@" in parts.netloc:
        raise ConfigError(
            f"{where}: the URL may not hold a user or password; use {'MCP_<NAME>_TOKEN'} or headers",
            source=spec.source or None,
            key="url",
        )
    if "#" in spec.url:
        raise ConfigError(f"{where}: the URL may not have a fragment", source=spec.source or None, key="url")


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port, or None for what is no http URL."""
    parts = _split(url)
    if parts is None or parts.hostname is None:
        return None
    scheme = parts.scheme.lower()
    return scheme, parts.hostname.lower(), parts.port or _DEFAULT_PORTS[scheme]


def is_loopback(url: str) -> bool:
    """Whether the URL's host is `localhost`, in 127.0.0.0/8, or `::1`, each written plainly."""
    origin = origin_of(url)
    if origin is None:
        return False
    host = origin[1]
    if host == "localhost":
        return True
    try:
        return IPv4Address(host).is_loopback
    except AddressValueError:
        pass
    try:
        return IPv6Address(host) == IPv6Address("::1")
    except AddressValueError:
        return False


def may_carry_secret(spec: McpServerSpec) -> bool:
    """Whether a token may be sent to the entry's URL: https, loopback http, or lifted for this server."""
    origin = origin_of(spec.url)
    return origin is not None and (origin[0] == "https" or is_loopback(spec.url) or spec.insecure_http)


def has_secret_header(headers: Mapping[str, str]) -> bool:
    """Whether an unexpanded header counts as a token: by its name, or because a variable fills it."""
    return any(name.strip().lower() in _SECRET_HEADERS or "${" in value for name, value in headers.items())


def check_secret_url(spec: McpServerSpec, *, secret: bool) -> None:
    """Check that a server that is sent a secret has an address that may be sent one.

    Raises:
        ConfigError: A secret would go over plain http to another machine.
    """
    if secret and not may_carry_secret(spec):
        raise ConfigError(
            f"MCP server {spec.name!r}: a token may not be sent over plain http to another machine;"
            f" use https, or {INSECURE_FLAG} {spec.name}",
            source=spec.source or None,
            key="url",
        )


def allow_insecure(specs: Sequence[McpServerSpec], names: Iterable[str]) -> list[McpServerSpec]:
    """Return the entries with plain http allowed for those named.

    Raises:
        ConfigError: A name is not registered, or its URL is https or loopback, so that the flag means
        nothing.
    """
    wanted = {same_name_key(name): name for name in names}
    known = {same_name_key(spec.name): spec for spec in specs}
    for key, name in wanted.items():
        spec = known.get(key)
        if spec is None or spec.name != name:
            raise ConfigError(f"no MCP server {name!r} is registered", source=INSECURE_FLAG)
        if not spec.url.lower().startswith("http:") or is_loopback(spec.url):
            raise ConfigError(
                f"MCP server {name!r} is not reached over plain http to another machine; leave the flag out",
                source=INSECURE_FLAG,
            )
    return [replace(s, insecure_http=True) if same_name_key(s.name) in wanted else s for s in specs]
