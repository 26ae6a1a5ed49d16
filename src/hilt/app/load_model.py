"""Loads a model by its name; the library of a provider is loaded when one of its models is named."""

from collections.abc import Mapping
from pathlib import Path

from hilt.adapters.model_scripted import ScriptModel
from hilt.core.errors import ConfigError
from hilt.ports.model import Model


def load_model(name: str, environment: Mapping[str, str]) -> Model:
    """Return the model of a name, with keys from the environment; its library is loaded now.

    Raises:
        ConfigError: The provider is unknown, its library is not installed, its key is missing, or a script is broken.
    """
    provider, _, rest = name.partition(":" if name.startswith("scripted:") else "/")
    if provider == "scripted":
        return ScriptModel.load(Path(rest), source=rest)
    if provider == "anthropic":
        from hilt.adapters.model_direct import anthropic

        return anthropic.load_model(name, keys={"anthropic": environment.get("ANTHROPIC_API_KEY", "")})
    if provider in ("openai", "openai-responses"):
        from hilt.adapters.model_direct import openai

        base = environment.get("OPENAI_BASE_URL", "")
        return openai.load_model(
            name,
            keys={"openai": environment.get("OPENAI_API_KEY", "")},
            base_urls={"openai": base} if base else None,
        )
    raise ConfigError(
        f"unknown model {name!r}; write anthropic/NAME, openai/NAME, openai-responses/NAME or scripted:FILE",
        key="model",
    )
