"""Who may call: bearer tokens and their principals, hosts and origins, requests a second."""

import hashlib
import hmac
import ipaddress
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from hilt.core.errors import RequestError

OPERATOR: Final = ""
"""The principal of whoever runs the service: of its own token, and of everybody where there is no token."""


class Tokens:
    """Bearer tokens with their principals, kept as digests; without any, every caller is the operator."""

    def __init__(self, principals: Mapping[str, str] | None = None) -> None:
        """Take the principal of each token."""
        self._known = [(_digest(token), principal) for token, principal in (principals or {}).items()]

    @property
    def needed(self) -> bool:
        """Whether a request needs one."""
        return bool(self._known)

    def principal(self, authorization: str) -> str:
        """Return the principal of a request with this header; every token is compared, each in constant time.

        Raises:
            RequestError: It holds no token, or an unknown one.
        """
        if not self._known:
            return OPERATOR
        scheme, _, token = authorization.partition(" ")
        given = _digest(token.strip())
        found = [principal for known, principal in self._known if hmac.compare_digest(known, given)]
        if scheme.lower() != "bearer" or not found:
            raise RequestError("a known bearer token is needed: Authorization: Bearer TOKEN", code="unauthenticated")
        return found[0]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def is_loopback_host(host: str) -> bool:
    """Whether a host name, as an address or a Host header without its port has it, is this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRule:
    """Which Host and Origin a request may name; `loopback` is whether the listener is on this machine alone."""

    loopback: bool = True
    origins: Sequence[str] = ()

    def check(self, host: str | None, origin: str | None) -> None:
        """Check a request's headers, None where one is absent.

        Raises:
            RequestError: On a loopback listener one names another host.
        """
        if not self.loopback:
            return
        if host is not None and not is_loopback_host(_host(f"//{host}")):
            raise RequestError(f"the Host header names {host[:80]!r}, which is not this machine", code="forbidden")
        if origin is not None and origin not in self.origins and not is_loopback_host(_host(origin)):
            raise RequestError(
                f"the origin {origin[:80]!r} may not call; --cors-origin lists those that may", code="forbidden"
            )

    def cors(self, origin: str | None) -> dict[str, str]:
        """Return the headers that let the pages of an origin read the answer, none unless it is listed."""
        if origin is None or origin not in self.origins:
            return {}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin", "Access-Control-Expose-Headers": "Retry-After"}


PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
    "Access-Control-Max-Age": "600",
}


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@dataclass(slots=True)
class RateLimit:
    """Requests that each principal may make a second; None means any number. `monotonic` gives seconds."""

    per_second: float | None
    monotonic: Callable[[], float]
    _made: dict[str, deque[float]] = field(default_factory=dict)

    def wait_s(self, principal: str) -> float:
        """Count a request and return 0, or return how many seconds are left until one is admitted again."""
        if self.per_second is None:
            return 0.0
        admitted = max(1, math.floor(self.per_second))
        window_s = admitted / self.per_second
        now = self.monotonic()
        made = self._made.setdefault(principal, deque())
        while made and now - made[0] >= window_s:
            made.popleft()
        if len(made) >= admitted:
            return window_s - (now - made[0])
        made.append(now)
        return 0.0
