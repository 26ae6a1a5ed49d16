"""What reaches the web: the fetcher, the search engine that the settings or the environment name, the tools."""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Final

from hilt.adapters.fetch_http import HttpFetcher
from hilt.adapters.search_web import Engine, HttpSearcher, brave, custom, exa, searxng
from hilt.app.config import Config
from hilt.builtins.web.web_fetch import WebFetch
from hilt.builtins.web.web_search import WebSearch
from hilt.core.errors import ConfigError
from hilt.ports.fetch import Fetcher
from hilt.ports.tool import Tool
from hilt.ports.web_search import WebSearcher

_KEY_VARIABLES: Final = {"exa": "EXA_API_KEY", "brave": "BRAVE_API_KEY"}
_URL_VARIABLE: Final = "SEARXNG_URL"


def provide_fetcher(services: MutableMapping[type, object]) -> Sequence[Tool]:
    """Add what fetches to the services, unless the host gave its own; it is no tool by itself."""
    services.setdefault(Fetcher, HttpFetcher())
    return ()


def web_tools(config: Config, services: MutableMapping[type, object]) -> Sequence[Tool]:
    """Return the tools of the category web and add to the services what they need.

    WebSearch is there where the host gave a `WebSearcher`, or an engine is configured.

    Raises:
        ConfigError: The engine that the settings name lacks its key or address.
    """
    provide_fetcher(services)
    if WebSearcher not in services:
        engine = search_engine(config)
        if engine is None:
            return [WebFetch()]
        services[WebSearcher] = HttpSearcher(engine)
    return [WebFetch(), WebSearch()]


def search_engine(config: Config) -> Engine | None:
    """Return the engine of the settings; without one, that of the first of EXA_API_KEY, BRAVE_API_KEY, SEARXNG_URL.

    Raises:
        ConfigError: The engine that the settings name lacks its key or address.
    """
    settings, environment = config.web.search, config.environment
    backend = settings.backend or _by_environment(environment)
    if backend is None:
        return None
    variable = settings.key_env or _KEY_VARIABLES.get(backend, "")
    key = environment.get(variable, "")
    if variable and not key:
        raise ConfigError(f"the variable {variable} with the key of {backend} is not set", key="web.search.key_env")
    url = settings.url or ""
    match backend:
        case "exa":
            return exa(key, url=url) if url else exa(key)
        case "brave":
            return brave(key, url=url) if url else brave(key)
        case "searxng":
            return searxng(_address(url or environment.get(_URL_VARIABLE, ""), backend), key=key)
        case _:
            return custom(_address(url, backend), key=key)


def _by_environment(environment: Mapping[str, str]) -> str | None:
    for backend, variable in (*_KEY_VARIABLES.items(), ("searxng", _URL_VARIABLE)):
        if environment.get(variable):
            return backend
    return None


def _address(url: str, backend: str) -> str:
    if not url.lower().startswith(("http://", "https://")):
        raise ConfigError(f"the search engine {backend} needs an http or https URL", key="web.search.url")
    return url
