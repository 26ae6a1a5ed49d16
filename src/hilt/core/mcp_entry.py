"""One `[[servers]]` table of mcp.toml: reading it, filling its variables, the digest of an approval."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import fields, replace

from hilt.core.errors import ConfigError
from hilt.core.mcp import (
    ChosenServer,
    McpServerSpec,
    Protocol,
    ServerOrigin,
    Transport,
    check_distinct,
    check_server_name,
    token_variable,
)
from hilt.core.mcp_header import header_fault
from hilt.core.mcp_url import check_secret_url, check_url, has_secret_header, origin_of
from hilt.core.tool import canonical_json

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_TRANSPORTS: Mapping[str, Transport] = {"http": "http", "sse": "sse", "stdio": "stdio"}
_PROTOCOLS: Mapping[str, Protocol] = {"auto": "auto", "handshake": "handshake", "stateless": "stateless"}
_HTTP_KEYS = frozenset({"url", "headers", "pass_headers", "insecure_http"})
_STDIO_KEYS = frozenset({"command", "args", "env", "cwd"})
_OTHER_KEYS = frozenset(
    {
        "name",
        "transport",
        "enabled",
        "required",
        "protocol",
        "connect_timeout_s",
        "idle_timeout_s",
        "call_timeout_s",
        "trust_annotations",
        "tools",
    }
)


class MissingVariableError(ConfigError):
    """A `${VAR}` of one entry has no value; only that server is disabled.

    `variable` and `field` say which.
    """

    def __init__(self, variable: str, field: str) -> None:
        super().__init__(f"the variable {variable} is not set", key=field)
        self.variable = variable
        self.field = field


class _Table:
    """Typed access to one table; every refusal names file and key."""

    def __init__(self, table: Mapping[str, object], source: str, where: str) -> None:
        self._table = table
        self._source = source
        self._where = where

    def fail(self, key: str, message: str) -> ConfigError:
        return ConfigError(message, source=self._source, key=f"{self._where}.{key}" if key else self._where)

    def text(self, key: str) -> str:
        value = self._table.get(key, "")
        if not isinstance(value, str) or "\0" in value:
            raise self.fail(key, "expected text")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._table.get(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, "expected true or false")
        return value

    def seconds(self, key: str, default: float) -> float:
        value = self._table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.fail(key, "expected a number of seconds above 0")
        return float(value)

    def texts(self, key: str) -> tuple[str, ...] | None:
        value = self._table.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) and "\0" not in item for item in value):
            raise self.fail(key, "expected a list of texts")
        return tuple(value)

    def pairs(self, key: str) -> dict[str, str]:
        value = self._table.get(key, {})
        if not isinstance(value, Mapping):
            raise self.fail(key, "expected a table of texts")
        for name, item in value.items():
            if not isinstance(item, str) or "\0" in item:
                raise self.fail(f"{key}.{name}", "expected text")
        return {str(name): str(item) for name, item in value.items()}

    def check_keys(self, known: frozenset[str]) -> None:
        for key in self._table:
            if key not in known:
                raise self.fail(str(key), "unknown key")


def _transport(table: _Table, raw: Mapping[str, object]) -> Transport:
    has_url, has_command = "url" in raw, "command" in raw
    if has_url and has_command:
        raise table.fail("command", "an entry has a url or a command, not both")
    if not has_url and not has_command:
        raise table.fail("", "an entry needs a url or a command")
    for key in raw:
        if key in (_STDIO_KEYS if has_url else _HTTP_KEYS):
            raise table.fail(key, f"this key does not go with a {'url' if has_url else 'command'}")
    if not table.text("url" if has_url else "command"):
        raise table.fail("url" if has_url else "command", "expected text that is not empty")
    given = table.text("transport") or ("http" if has_url else "stdio")
    transport = _TRANSPORTS.get(given)
    if transport is None or (transport == "stdio") is has_url:
        raise table.fail("transport", 'expected "http" or "sse", and a url' if has_url else 'expected "stdio"')
    return transport


def _header_pairs(table: _Table) -> Mapping[str, str]:
    """Return the headers, each of which can be sent."""
    pairs = table.pairs("headers")
    for name, value in pairs.items():
        fault = header_fault(name, value)
        if fault:
            raise table.fail("headers", fault)
    return pairs


def parse_entry(raw: Mapping[str, object], *, source: str, origin: ServerOrigin, index: int = 0) -> McpServerSpec:
    """Return the entry of one `[[servers]]` table; variables are left as they are written.

    `index` counts the tables of the file from 0, for messages.

    Raises:
        ConfigError: A key is unknown or of the wrong type, or the keys do not go together; names file and
        key.
    """
    table = _Table(raw, source, f"servers[{index}]")
    table.check_keys(_HTTP_KEYS | _STDIO_KEYS | _OTHER_KEYS)
    name = table.text("name")
    if not name:
        raise table.fail("name", "an entry needs a name")
    check_server_name(name, source=source)
    transport = _transport(table, raw)
    protocol = _PROTOCOLS.get(table.text("protocol") or "auto")
    if protocol is None:
        raise table.fail("protocol", 'expected "auto", "handshake" or "stateless"')
    tools = raw.get("tools", {})
    if not isinstance(tools, Mapping):
        raise table.fail("tools", "expected a table with allow and deny")
    globs = _Table(tools, source, f"servers[{index}].tools")
    globs.check_keys(frozenset({"allow", "deny"}))
    return McpServerSpec(
        name=name,
        transport=transport,
        url=table.text("url"),
        headers=_header_pairs(table),
        command=table.text("command"),
        args=table.texts("args") or (),
        env=table.pairs("env"),
        cwd=table.text("cwd"),
        enabled=table.flag("enabled", True),
        required=table.flag("required", False),
        protocol=protocol,
        connect_timeout_s=table.seconds("connect_timeout_s", 30.0),
        idle_timeout_s=table.seconds("idle_timeout_s", 120.0),
        call_timeout_s=table.seconds("call_timeout_s", 600.0),
        insecure_http=table.flag("insecure_http", False),
        trust_annotations=table.flag("trust_annotations", True),
        allow=globs.texts("allow"),
        deny=globs.texts("deny") or (),
        pass_headers=table.texts("pass_headers"),
        origin=origin,
        source=source,
    )


def parse_servers(document: Mapping[str, object], *, source: str, origin: ServerOrigin) -> list[McpServerSpec]:
    """Return the entries of one mcp.toml document, in its order.

    Raises:
        ConfigError: A key is unknown, an entry is wrong, or a name stands twice.
    """
    for key in document:
        if key != "servers":
            raise ConfigError("unknown key; mcp.toml holds [[servers]] only", source=source, key=str(key))
    tables = document.get("servers", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise ConfigError("expected [[servers]] tables", source=source, key="servers")
    specs = [parse_entry(t, source=source, origin=origin, index=i) for i, t in enumerate(tables)]
    check_distinct(specs)
    return specs


def expand(text: str, variables: Mapping[str, str], *, field: str) -> str:
    """Return the text with each `${VAR}` and `${VAR:-default}` filled once.

    A filled value is not looked at again.
    The default serves for a variable that is absent or empty.

    Raises:
        MissingVariableError: A variable without a default is absent.
    """

    def value(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        found = variables.get(name)
        if default is not None:
            return found or default
        if found is None:
            raise MissingVariableError(name, field)
        return found

    return _VARIABLE.sub(value, text)


def expand_entry(spec: McpServerSpec, variables: Mapping[str, str]) -> McpServerSpec:
    """Return the entry with command, args, env values, url and header values filled.

    Raises:
        MissingVariableError: A variable is absent; names it and the field.
    """
    return replace(
        spec,
        command=expand(spec.command, variables, field="command"),
        args=tuple(expand(arg, variables, field=f"args[{i}]") for i, arg in enumerate(spec.args)),
        env={k: expand(v, variables, field=f"env.{k}") for k, v in spec.env.items()},
        url=expand(spec.url, variables, field="url"),
        headers={k: expand(v, variables, field=f"headers.{k}") for k, v in spec.headers.items()},
    )


def may_use_token(chosen: ChosenServer) -> bool:
    """Whether the token variable of this name is meant for this entry.

    A project entry that hides an entry of another source with another origin gets none: a checked-out file
    must not draw a token to its own server.
    """
    if chosen.spec.origin != "project":
        return True
    own = origin_of(chosen.spec.url)
    return all(origin_of(other.url) == own for other in chosen.hidden)


def prepare_server(chosen: ChosenServer, variables: Mapping[str, str]) -> McpServerSpec:
    """Return the entry ready to dial: variables filled, URL checked, bearer token added.

    Raises:
        MissingVariableError: A variable is absent; only this server is disabled.
        ConfigError: The URL is not allowed, or may not carry the secret that goes with it.
    """
    raw = chosen.spec
    spec = expand_entry(raw, variables)
    if spec.transport == "stdio":
        return spec
    check_url(spec)
    token = variables.get(token_variable(spec.name), "") if may_use_token(replace(chosen, spec=spec)) else ""
    check_secret_url(spec, secret=bool(token) or has_secret_header(raw.headers))
    if not token:
        return spec
    kept = {k: v for k, v in spec.headers.items() if k.strip().lower() != "authorization"}
    return replace(spec, headers={**kept, "Authorization": f"Bearer {token}"})


def secret_values(spec: McpServerSpec) -> tuple[str, ...]:
    """Return the values of a prepared entry that no message may show: of headers, env and query."""
    found: set[str] = set()
    for value in (*spec.headers.values(), *spec.env.values()):
        found.add(value)
        found.add(value.rpartition(" ")[2])
    for pair in spec.url.partition("?")[2].split("&"):
        found.add(pair.partition("=")[2])
    return tuple(sorted(value for value in found if value))


def entry_digest(spec: McpServerSpec) -> str:
    """Return the SHA-256 of the entry as written, in hex; any change of a key or value gives another."""
    body: dict[str, object] = {}
    for item in fields(spec):
        if item.name not in ("origin", "source"):
            value = getattr(spec, item.name)
            body[item.name] = dict(value) if isinstance(value, Mapping) else value
    return hashlib.sha256(canonical_json(body).encode("utf-8", "surrogatepass")).hexdigest()


def admitted(spec: McpServerSpec, *, trusted: bool, approved: frozenset[str]) -> bool:
    """Whether the entry may be connected: a project's needs trust, or an approval of exactly this entry."""
    return spec.origin != "project" or trusted or entry_digest(spec) in approved
