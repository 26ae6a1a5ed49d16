"""The part that one session has in the inbox of its agent."""

from collections.abc import Awaitable, Callable

from hilt.core.shaping import Keep
from hilt.engine.conversation import Conversation
from hilt.engine.inbox import Inbox


class SessionMail:
    """Lets a session take letters from when it begins until it is closed, and again from a prompt that reopens it."""

    def __init__(self, session: str, open_inbox: Callable[[], Awaitable[Inbox]], keep: Keep) -> None:
        """Take what opens the agent's inbox, and what keeps a text that is too long to be shown."""
        self._session = session
        self._open_inbox = open_inbox
        self._keep = keep
        self._inbox: Inbox | None = None

    async def begin(self) -> None:
        """Take letters from now on.

        Raises:
            ConfigError: The agent's key cannot be had, or nobody can listen at its address.
        """
        self._inbox = await self._open_inbox()
        self._inbox.enter(self._session)

    def bind(self, conversation: Conversation) -> None:
        """Put what waits before the model at each turn of this conversation."""
        conversation.sources.append(self._take)

    def close(self) -> None:
        """Take none any more."""
        if self._inbox is not None:
            self._inbox.leave(self._session)

    def _take(self) -> list[str]:
        if self._inbox is None:
            return []
        self._inbox.enter(self._session)
        return self._inbox.take(self._session, self._keep)
