"""Search engines over HTTP: Exa, Brave, SearXNG, and any service of the plain form in `engines.py`."""

from hilt.adapters.search_web.engines import BRAVE_URL, EXA_URL, Engine, brave, custom, exa, searxng
from hilt.adapters.search_web.searcher import HttpSearcher

__all__ = ["BRAVE_URL", "EXA_URL", "Engine", "HttpSearcher", "brave", "custom", "exa", "searxng"]
