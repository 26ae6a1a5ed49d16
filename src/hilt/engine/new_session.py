"""What a session is asked to be, and the record that it begins with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hilt.core.errors import RequestError
from hilt.core.mcp import McpServerSpec
from hilt.core.session import Mode, SessionId, SessionRecord, ToolFilter
from hilt.engine.keeper import check_mode

ID_MAX_BYTES = 256
PROFILES = frozenset({"", "no-fs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session that is asked for; what is None is the application's default. `owner` is who asks."""

    owner: str = ""
    id: str | None = None
    title: str = ""
    mode: Mode | str | None = None
    model: str | None = None
    system_prompt: str | None = None
    profile: str = ""
    enable: Sequence[str] | None = None
    tools: ToolFilter | None = None
    limits: Mapping[str, float | None] | None = None
    mcp_servers: Sequence[McpServerSpec] = field(default=())

    def record(self, given: SessionRecord, *, made_id: str, now: str) -> SessionRecord:
        """Return its record over the application's defaults; `made_id` is for one without an id.

        Raises:
            RequestError: The id, mode or profile is wrong; the text names it.
        """
        check_mode(self.mode)
        if self.profile not in PROFILES:
            raise RequestError(f"unknown profile {self.profile!r}; the only one is 'no-fs'")
        return SessionRecord(
            id=SessionId(made_id if self.id is None else _checked_id(self.id)),
            owner=self.owner,
            created_at=now,
            updated_at=now,
            title=self.title,
            mode=given.mode if self.mode is None else Mode(self.mode),
            model=given.model if self.model is None else self.model,
            system_prompt=given.system_prompt if self.system_prompt is None else self.system_prompt,
            profile=self.profile,
            workspace="" if self.profile else given.workspace,
            enable=given.enable if self.enable is None else tuple(self.enable),
            tools=self.tools or ToolFilter(),
            limits=dict(self.limits or {}),
            client_servers=tuple(spec.name for spec in self.mcp_servers),
        )


def _checked_id(id_: str) -> str:
    try:
        size = len(id_.encode("utf-8"))
    except UnicodeEncodeError:
        size = 0
    if not 1 <= size <= ID_MAX_BYTES or any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in id_):
        raise RequestError(f"a session id has 1 to {ID_MAX_BYTES} bytes of UTF-8 and no control character")
    return id_
