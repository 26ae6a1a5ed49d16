"""What adapters that speak HTTP share: one TLS context, and clients that heed no environment variable."""

import logging
import ssl
from collections.abc import Mapping
from functools import lru_cache

import httpx2


@lru_cache(maxsize=1)
def shared_ssl_context() -> ssl.SSLContext:
    """Return the TLS context of every client; making one takes longer than the rest of a client."""
    return httpx2.create_ssl_context(trust_env=False)


def client(
    *,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> httpx2.AsyncClient:
    """Return a client without proxies, redirects and settings from the environment; the caller closes it.

    `timeout_s` bounds each connect, read and write, not the whole request: a slow drip of bytes needs a
    deadline around the request as well.
    """
    # The client writes whole addresses, queries included, to its log at INFO.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    return httpx2.AsyncClient(
        verify=shared_ssl_context(),
        timeout=timeout_s,
        headers=dict(headers or {}),
        follow_redirects=False,
        trust_env=False,
        transport=transport,
    )
