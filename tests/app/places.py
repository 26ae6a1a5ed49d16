"""A machine of its own for configuration: home, workspace and files below a temporary folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hilt.app.config import Config
from hilt.app.flags import Flags
from hilt.app.load import Locations, load_config


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where the files of one test lie."""

    home: Path
    root: Path
    managed: Path

    @classmethod
    def below(cls, folder: Path) -> "Machine":
        """Make the folders of a machine."""
        machine = cls(home=folder / "home", root=folder / "work", managed=folder / "etc" / "settings.yaml")
        for path in (machine.home, machine.root / ".hilt", machine.managed.parent):
            path.mkdir(parents=True, exist_ok=True)
        return machine

    @property
    def user_dir(self) -> Path:
        """The user's configuration folder."""
        return self.home / ".config" / "hilt"

    def user(self, text: str, name: str = "settings.yaml") -> Path:
        """Write a file of the user."""
        self.user_dir.mkdir(parents=True, exist_ok=True)
        return _write(self.user_dir / name, text)

    def shared(self, text: str) -> Path:
        """Write the project's settings."""
        return _write(self.root / ".hilt" / "settings.yaml", text)

    def local(self, text: str) -> Path:
        """Write the project's local settings."""
        return _write(self.root / ".hilt" / "settings.local.yaml", text)

    def project_servers(self, text: str) -> Path:
        """Write the project's mcp.toml."""
        return _write(self.root / ".hilt" / "mcp.toml", text)

    def file(self, name: str, text: str) -> str:
        """Write a file into the workspace and return its name."""
        _write(self.root / name, text)
        return name

    def load(self, flags: Flags | None = None, **environment: str) -> Config:
        """Load the configuration as a process started in the workspace does."""
        variables: Mapping[str, str] = {"HOME": str(self.home), **environment}
        places = replace(Locations.of(variables), managed=self.managed)
        return load_config(flags, environment=variables, cwd=self.root, locations=places)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
