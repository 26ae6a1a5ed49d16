"""A session with a shell, for tests of its background jobs."""

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from hilt.app.config import Config
from hilt.core.session import UserMessage
from hilt.engine.session import Session
from hilt.ports.permission import Verdict
from tests.adapters.marked import NAME, Mark
from tests.app.house import House, house
from tests.flows.kit import Answering, call


class Jobs:
    """A session with a shell whose processes carry a mark."""

    def __init__(self, home: House, session: Session) -> None:
        self.home = home
        self.session = session

    async def all(self, *calls: Mapping[str, object]) -> list[dict[str, object]]:
        """Make calls in one answer and return the JSON of their results."""
        return [json.loads(result.content) for result in await self.home.turn(self.session, *calls)]

    async def one(self, name: str, **args: object) -> dict[str, object]:
        """Make one call and return the JSON of its result."""
        (body,) = await self.all(call(name, args))
        return body

    async def start(self, command: str, **more: object) -> str:
        """Start a job and return its id."""
        body = await self.one("shell", command=command, background=True, **more)
        assert set(body) == {"job_id", "status", "message"}, body
        assert body["status"] == "running"
        return str(body["job_id"])

    async def ended(self, id_: str) -> dict[str, object]:
        """Wait for the end of a job and return its status."""
        return await self.one("shell_job_status", job_id=id_, wait_secs=30)

    async def rows(self) -> list[dict[str, object]]:
        """Return what the list of jobs shows."""
        (result,) = await self.home.turn(self.session, call("shell_jobs"))
        rows: list[dict[str, object]] = json.loads(result.content)
        return rows

    @property
    def notices(self) -> list[str]:
        """What the model was told in notices, by its last request."""
        messages = self.home.model.requests[-1].messages
        return [message.text for message in messages if isinstance(message, UserMessage) and message.notice]


@asynccontextmanager
async def jobs(root: Path, mark: Mark, **options: object) -> AsyncIterator[Jobs]:
    """Build an application with a shell over a folder; the options are those of `build`."""
    options.setdefault("config", Config(environment={**os.environ, NAME: mark.value}))
    options.setdefault("approver", Answering([Verdict(kind="allow_once")]))
    with anyio.fail_after(50):
        async with house(root, enable_shell=True, **options) as home:
            yield Jobs(home, await home.app.sessions.create())
