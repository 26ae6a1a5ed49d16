"""Stands where no model was chosen."""

from hilt.core.errors import ConfigError
from hilt.ports.model import Capabilities, Model


class _NoModel:
    """Says that a model is needed, when one is."""

    name = ""
    capabilities = Capabilities()

    def stream(self, request: object) -> object:
        """Refuse.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError("no model was chosen; give model= or --model, for example anthropic/claude-sonnet-4-5")


NO_MODEL: Model = _NoModel()  # type: ignore[assignment]  # its stream only raises
