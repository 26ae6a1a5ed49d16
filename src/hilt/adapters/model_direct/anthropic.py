"""Models of Anthropic, over the Messages API: `anthropic/NAME`."""

from collections.abc import Mapping

from hilt.core.errors import ConfigError
from hilt.ports.model import Capabilities

try:
    from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
    from pydantic_ai.providers.anthropic import AnthropicProvider

    from hilt.adapters.model_direct.http import provider_client
    from hilt.adapters.model_direct.stream import DirectModel
    from hilt.adapters.model_direct.wire import Wire, key_of, model_of
except ImportError:
    raise ConfigError("models of Anthropic need more packages: pip install 'hilt[anthropic]'", key="model") from None

BASE_URL = "https://api.anthropic.com"

_WIRE = Wire(
    name="anthropic",
    profile="anthropic",
    marks_errors=True,
    media_in_results=True,
    settings=AnthropicModelSettings(
        # The prompt is cached up to the end of the tools, of the instructions and of the last message.
        anthropic_cache_tool_definitions=True,
        anthropic_cache_instructions=True,
        anthropic_cache_messages=True,
    ),
)


def load_model(
    name: str,
    *,
    keys: Mapping[str, str],
    base_urls: Mapping[str, str] | None = None,
    capabilities: Capabilities | None = None,
) -> DirectModel:
    """Return the model `anthropic/NAME`; nothing is sent before its first request.

    `keys` and `base_urls` are by provider, here `anthropic`; `capabilities` narrow what the model is
    known to take.

    Raises:
        ConfigError: The name is of another form, or there is no key.
    """
    model = model_of(name, "anthropic")
    key = key_of(keys, "anthropic", variable="ANTHROPIC_API_KEY")
    client = provider_client({"x-api-key": key})
    base_url = (base_urls or {}).get("anthropic", BASE_URL)
    provider = AnthropicProvider(api_key=key, base_url=base_url, http_client=client)
    return DirectModel(
        AnthropicModel(model, provider=provider),
        name=name,
        wire=_WIRE,
        capabilities=capabilities,
        client=client,
        secret=key,
    )
