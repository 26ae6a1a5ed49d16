"""Fetches over HTTP from public addresses alone: names are vetted where the connection is opened."""

from hilt.adapters.fetch_http.fetcher import FetchLimits, HttpFetcher
from hilt.adapters.fetch_http.guard import GuardedBackend
from hilt.adapters.fetch_http.public import public_network

__all__ = ["FetchLimits", "GuardedBackend", "HttpFetcher", "public_network"]
