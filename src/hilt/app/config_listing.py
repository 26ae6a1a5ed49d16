"""Every value of the configuration with where it comes from, secrets masked: what `hilt config show` prints."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass

from hilt.app.config import Config, Source
from hilt.app.server_files import MASK, masked_url
from hilt.app.settings import Settings
from hilt.app.settings_decode import KeyPath, dotted

_SECRET_KEYS = frozenset({"headers", "env"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value: its dotted key, itself as plain data, its source."""

    key: str
    value: object
    source: Source


def listing(config: Config) -> list[Value]:
    """Return every value; of keys that add up, one for each entry."""
    found: list[Value] = []
    for item in fields(Settings):
        found += _values(config, getattr(config, item.name), (item.name,))
    return found


def _values(config: Config, value: object, path: KeyPath) -> Iterator[Value]:
    if is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield from _values(config, getattr(value, item.name), (*path, item.name))
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _values(config, inner, (*path, str(key)))
        return
    sources = config.sources.get(path, (Source(),))
    if isinstance(value, tuple) and len(sources) == len(value) and len(sources) > 1:
        for index, (entry, source) in enumerate(zip(value, sources, strict=True)):
            yield Value(key=f"{dotted(path)}[{index}]", value=masked(entry), source=source)
    else:
        yield Value(key=dotted(path), value=masked(value), source=sources[0] if sources else Source())


def masked(value: object) -> object:
    """Return a value as plain data; what stands under headers or env, and every URL's query, is masked."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _under(item.name, getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _under(str(key), inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [masked(item) for item in value]
    return masked_url(str(value)) if isinstance(value, str) else value


def _under(key: str, value: object) -> object:
    if key in _SECRET_KEYS and isinstance(value, Mapping):
        return {str(name): MASK for name in value}
    return masked(value)
