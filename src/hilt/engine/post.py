"""Sends what this agent has to say to a peer, and tells whether it arrived."""

import logging
from collections.abc import Callable
from typing import Final

import anyio

from hilt.core.envelope import (
    Answer,
    Content,
    Envelope,
    EnvelopeError,
    PeerRequest,
    Sealed,
    answer_message,
    digest_of,
    envelope_message,
    read_answer,
    refusal,
)
from hilt.core.errors import ToolError
from hilt.core.peer import Directory, Peer, key_of
from hilt.engine.inbox import Inbox
from hilt.ports.clock import Clock
from hilt.ports.peer import PeerKeys, PeerLink, PeerLostError, PeerUnreachableError

logger = logging.getLogger(__name__)

DEADLINE_S: Final = 30.0
_TRIES: Final = 2


class _NoAnswerError(Exception):
    """What came back counts for nothing."""


class Post:
    """See `PeerPost`. An envelope whose answer is lost is sent once more: the host refuses to take it twice."""

    def __init__(
        self,
        keys: PeerKeys,
        directory: Directory,
        inbox: Inbox,
        *,
        links: Callable[[Peer], PeerLink],
        clock: Clock,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._keys = keys
        self._directory = directory
        self._inbox = inbox
        self._links = links
        self._clock = clock
        self._deadline_s = deadline_s

    @property
    def directory(self) -> Directory:
        """See `PeerPost.directory`."""
        return self._directory

    async def send(self, to: Peer, content: Content, *, session: str) -> str:
        """See `PeerPost.send`."""
        envelope = Envelope(
            id=self._clock.new_id(),
            sender=self._keys.id,
            to=to.id,
            time_ms=int(self._clock.now().timestamp() * 1000),
            content=content,
        )
        try:
            body = envelope.to_bytes()
        except EnvelopeError as exc:
            raise ToolError.invalid_arguments(f"the message cannot be sent: {exc}") from None
        signature = self._keys.sign(envelope_message(body))
        frame = Sealed(key=key_of(self._keys.id), signature=signature, body=body).to_bytes()
        if isinstance(content, PeerRequest):
            self._inbox.expect(envelope.id, to.id, session)
        outcome = await self._delivered(to, frame, digest_of(body))
        if outcome:
            raise ToolError.execution_failed(f"{to.name!r} refused the message: {refusal(outcome)}")
        return envelope.id

    async def _delivered(self, to: Peer, frame: bytes, digest: str) -> str:
        """Return "" when the peer's host has the envelope, else why it refused.

        Raises:
            ToolError: It did not leave, or nobody knows whether it arrived.
        """
        try:
            with anyio.fail_after(self._deadline_s):
                return await self._tried(to, frame, digest)
        except TimeoutError:
            raise self._unknown(to, f"no acknowledgement came within {self._deadline_s:g} s") from None

    async def _tried(self, to: Peer, frame: bytes, digest: str) -> str:
        link = self._links(to)
        for again in range(_TRIES):
            try:
                answer = self._checked(to, await link.exchange(to, frame), digest)
            except PeerUnreachableError as exc:
                if again:
                    break
                raise ToolError.execution_failed(f"{to.name!r} cannot be reached: {exc}; nothing was sent") from None
            except PeerLostError:
                continue
            except _NoAnswerError as exc:
                raise self._unknown(to, str(exc)) from None
            if answer.accepted:
                return ""
            if again:
                break
            return answer.outcome
        raise self._unknown(to, "the connection ended before an acknowledgement came")

    def _checked(self, to: Peer, frame: bytes, digest: str) -> Answer:
        """Return the answer in a frame, if it is that peer's for that envelope."""
        sealed = Sealed.of(frame)
        if sealed is None or sealed.key != key_of(to.id):
            raise _NoAnswerError("what came back is of another agent")
        if not self._keys.verify(sealed.key, answer_message(sealed.body), sealed.signature):
            raise _NoAnswerError("what came back has no signature of that agent")
        try:
            answer = read_answer(sealed.body)
        except EnvelopeError:
            raise _NoAnswerError("what came back cannot be read") from None
        if (answer.sender, answer.to, answer.digest) != (to.id, self._keys.id, digest):
            raise _NoAnswerError("what came back is for another message")
        return answer

    def _unknown(self, to: Peer, why: str) -> ToolError:
        logger.warning("peer_message_unknown peer=%s why=%s", to.name, why)
        return ToolError.execution_failed(
            f"delivery to {to.name!r} is unknown: {why}. It may have arrived; ask before you send it again"
        )
