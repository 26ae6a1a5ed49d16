"""Models of OpenAI: `openai/NAME` over Chat Completions, `openai-responses/NAME` over Responses."""

from collections.abc import Mapping

from hilt.core.errors import ConfigError
from hilt.ports.model import Capabilities

try:
    from pydantic_ai.models.openai import (
        OpenAIChatModel,
        OpenAIChatModelSettings,
        OpenAIResponsesModel,
        OpenAIResponsesModelSettings,
    )
    from pydantic_ai.providers.openai import OpenAIProvider

    from hilt.adapters.model_direct.http import provider_client
    from hilt.adapters.model_direct.stream import DirectModel
    from hilt.adapters.model_direct.wire import Wire, key_of, model_of
except ImportError as exc:
    raise ConfigError("models of OpenAI need more packages: pip install 'hilt[openai]'", key="model") from exc

BASE_URL = "https://api.openai.com/v1"

_CHAT = Wire(
    name="openai",
    profile="openai",
    marks_errors=False,
    media_in_results=False,
    settings=OpenAIChatModelSettings(),
)
_RESPONSES = Wire(
    name="openai-responses",
    profile="openai",
    marks_errors=False,
    media_in_results=True,
    # The conversation is sent whole each time, so the provider need not keep it.
    settings=OpenAIResponsesModelSettings(openai_store=False),
)


def load_model(
    name: str,
    *,
    keys: Mapping[str, str],
    base_urls: Mapping[str, str] | None = None,
    capabilities: Capabilities | None = None,
) -> DirectModel:
    """Return the model `openai/NAME` or `openai-responses/NAME`; nothing is sent before its first request.

    `keys` and `base_urls` are by provider, here `openai` for both; `capabilities` narrow what the model is
    known to take.

    Raises:
        ConfigError: The name is of another form, or there is no key.
    """
    wire = _RESPONSES if name.startswith("openai-responses/") else _CHAT
    model = model_of(name, wire.name)
    key = key_of(keys, "openai", variable="OPENAI_API_KEY")
    client = provider_client({"authorization": f"Bearer {key}"})
    base_url = (base_urls or {}).get("openai", BASE_URL)
    provider = OpenAIProvider(api_key=key, base_url=base_url, http_client=client)
    kind = OpenAIResponsesModel if wire is _RESPONSES else OpenAIChatModel
    return DirectModel(
        kind(model, provider=provider),
        name=name,
        wire=wire,
        capabilities=capabilities,
        client=client,
        secret=key,
    )
