"""The HTTP client of a provider: what it sends is what is given here, whatever the environment holds."""

from collections.abc import Mapping

import httpx2

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 300.0

# The providers' libraries add headers from variables of their own and describe the machine; neither is sent.
_KEPT = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-beta",
        "anthropic-version",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
    }
)


def provider_client(headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Return a client that follows no redirect and uses neither proxy nor netrc of the environment.

    `headers` go with each request and carry the credentials; they replace those that a library sets.
    """
    own = {name.lower(): value for name, value in headers.items()}

    async def settle(request: httpx2.Request) -> None:
        for name in [name for name in request.headers if name.lower() not in _KEPT]:
            del request.headers[name]
        request.headers.update({**own, "user-agent": "hilt"})

    return httpx2.AsyncClient(
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        event_hooks={"request": [settle]},
    )
