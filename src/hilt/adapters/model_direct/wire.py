"""What differs between the wire formats, as values: so that translating and streaming are written once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.settings import ModelSettings

from hilt.core.errors import ConfigError

WireName = Literal["anthropic", "openai", "openai-responses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One wire format.

    `profile` is its row of `core/dialect.py`. `marks_errors`: a result has a flag for errors beside its text.
    `media_in_results`: a result may hold images; otherwise they follow in a message of the user.
    `settings` go with each request.
    """

    name: WireName
    profile: str
    marks_errors: bool
    media_in_results: bool
    settings: ModelSettings


def model_of(name: str, wire: WireName) -> str:
    """Return the provider's own name of the model `wire/NAME`.

    Raises:
        ConfigError: It names no model of this wire.
    """
    provider, _, model = name.partition("/")
    if provider != wire or not model:
        raise ConfigError(f"{name!r} is not of the form {wire}/NAME", key="model")
    return model


def key_of(keys: Mapping[str, str], provider: str, *, variable: str) -> str:
    """Return the provider's API key.

    Raises:
        ConfigError: There is none; names the variable that holds it.
    """
    key = keys.get(provider, "")
    if not key:
        raise ConfigError(f"no API key for {provider}; set {variable}", key="model")
    return key
