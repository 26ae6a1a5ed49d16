"""Two agents without an application: keys, an inbox each, and a post over whatever link a test makes."""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from hilt.adapters.peer_ed25519 import PeerKey
from hilt.core.envelope import (
    Answer,
    Content,
    Envelope,
    PeerMessage,
    Sealed,
    answer_message,
    digest_of,
    envelope_message,
    read_answer,
)
from hilt.core.peer import Address, Directory, InProcess, Peer, key_of
from hilt.engine.inbox import Inbox
from hilt.engine.post import Post
from hilt.ports.clock import Clock
from hilt.ports.peer import PeerLink
from hilt.testing import ManualClock

HI = PeerMessage(body="hi")


def free_port() -> int:
    """Return a port of loopback that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def sealed(key: PeerKey, body: bytes, *, as_: PeerKey | None = None) -> bytes:
    """Return the frame of an envelope's body, with the key of another agent where `as_` is given."""
    signature = key.sign(envelope_message(body))
    return Sealed(key=key_of((as_ or key).id), signature=signature, body=body).to_bytes()


def answered(key: PeerKey, to: PeerKey, body: bytes, outcome: str = "accepted") -> bytes:
    """Return the frame of an answer to the envelope with this body."""
    answer = Answer(sender=key.id, to=to.id, digest=digest_of(body), outcome=outcome).to_bytes()
    return Sealed(key=key_of(key.id), signature=key.sign(answer_message(answer)), body=answer).to_bytes()


def outcome_of(frame: bytes) -> str:
    """Return what an answer's frame says."""
    parts = Sealed.of(frame)
    assert parts is not None
    return read_answer(parts.body).outcome


@dataclass(kw_only=True)
class Pair:
    """Ann, who sends, and Bob, who listens."""

    clock: Clock = field(default_factory=ManualClock)
    ann: PeerKey = field(default_factory=PeerKey.new)
    bob: PeerKey = field(default_factory=PeerKey.new)

    def peer(self, address: Address | None = None) -> Peer:
        """Return Bob as Ann sees him."""
        return Peer(name="bob", id=self.bob.id, address=address or InProcess())

    def inbox(self, session: str = "") -> Inbox:
        """Return a new inbox of Bob, who lists Ann."""
        known = Peer(name="ann", id=self.ann.id, address=InProcess())
        return Inbox(self.bob, Directory(peers=(known,)), clock=self.clock, session=session)

    def post(self, links: Callable[[Peer], PeerLink], *, deadline_s: float = 20.0, inbox: Inbox | None = None) -> Post:
        """Return the post of Ann, who lists Bob."""
        directory = Directory(peers=(self.peer(),))
        own = inbox or Inbox(self.ann, directory, clock=self.clock)
        return Post(self.ann, directory, own, links=links, clock=self.clock, deadline_s=deadline_s)

    def body(self, content: Content = HI, *, id_: str = "", time_ms: int | None = None) -> bytes:
        """Return the body of an envelope from Ann to Bob, of now."""
        now = int(self.clock.now().timestamp() * 1000)
        return Envelope(
            id=id_ or self.clock.new_id(),
            sender=self.ann.id,
            to=self.bob.id,
            time_ms=now if time_ms is None else time_ms,
            content=content,
        ).to_bytes()

    def frame(self, content: Content = HI, *, id_: str = "", time_ms: int | None = None) -> bytes:
        """Return the frame of an envelope from Ann to Bob, of now."""
        return sealed(self.ann, self.body(content, id_=id_, time_ms=time_ms))
