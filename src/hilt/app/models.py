"""The models of an application: the one that was chosen, and those that sessions name."""

from collections.abc import Awaitable, Callable, Mapping

from hilt.app.no_model import NO_MODEL
from hilt.ports.model import Model

Load = Callable[[str, Mapping[str, str]], Model]
SCRIPT = "scripted:"


class Models:
    """Loads a model when a session first names it, with keys from the environment; scripts anew for each session."""

    def __init__(self, chosen: str | Model | None, *, default: str, environment: Mapping[str, str], load: Load) -> None:
        self._chosen = chosen
        self._default = default
        self._environment = environment
        self._load = load
        self._known: dict[str, Model] = {}

    @property
    def name(self) -> str:
        """The name of the model that sessions have when they name none, "" when there is none."""
        if self._chosen is None:
            return self._default
        return self._chosen if isinstance(self._chosen, str) else self._chosen.name

    def get(self, name: str) -> Model:
        """Return the model of a name.

        Raises:
            ConfigError: It cannot be loaded.
        """
        chosen = self._chosen
        if chosen is not None and not isinstance(chosen, str) and name in ("", chosen.name):
            return chosen
        if not name:
            return NO_MODEL
        if name.startswith(SCRIPT):
            return self._load(name, self._environment)
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._load(name, self._environment)
        return known

    async def aclose(self) -> None:
        """Close the connections of the models that were loaded here."""
        for model in self._known.values():
            close: Callable[[], Awaitable[None]] | None = getattr(model, "aclose", None)
            if close is not None:
                await close()
