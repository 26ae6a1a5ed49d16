"""What a sender is told: acknowledged, refused, not sent, or unknown; and what counts as an acknowledgement."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
import pytest

from hilt.adapters.peer_ed25519 import PeerKey
from hilt.core.envelope import ENVELOPE_MAX_BYTES, Content, PeerMessage, PeerRequest, Sealed, read_envelope
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.peer import Directory, Peer
from hilt.engine.inbox import Inbox
from hilt.engine.post import DEADLINE_S, Post
from hilt.engine.retained import Retained
from hilt.ports.peer import PeerLostError, PeerUnreachableError
from tests.engine.peer_kit import HI, Pair, answered

Host = Callable[[bytes], bytes]


@dataclass
class Link:
    """A link whose exchanges a test writes down: each is a host, or what is raised; `frames` are what was sent."""

    exchanges: list[Host | Exception]
    frames: list[bytes] = field(default_factory=list)

    async def exchange(self, peer: Peer, frame: bytes) -> bytes:
        """See `PeerLink`."""
        self.frames.append(frame)
        one = self.exchanges.pop(0)
        if isinstance(one, Exception):
            raise one
        return one(frame)


def lost_answer(host: Host) -> Host:
    """Return a host that takes a frame and loses its answer."""

    def exchange(frame: bytes) -> bytes:
        host(frame)
        raise PeerLostError("the connection ended")

    return exchange


@pytest.fixture
def pair() -> Pair:
    return Pair()


def posted(pair: Pair, *exchanges: Host | Exception) -> tuple[Post, Link]:
    link = Link(list(exchanges))
    return pair.post(lambda _: link), link


async def told(post: Post, peer: Peer, content: Content = HI) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await post.send(peer, content, session="one")
    return caught.value


def read(inbox: Inbox) -> Sequence[str]:
    return inbox.take("one", Retained().keep)


@pytest.mark.req("BLT-87")
async def test_a_send_returns_the_id_when_the_peers_host_acknowledged(pair: Pair) -> None:
    inbox = pair.inbox()
    inbox.enter("one")
    post, link = posted(pair, inbox.receive)
    id_ = await post.send(pair.peer(), PeerRequest(intent="x"), session="one")
    sealed = Sealed.of(link.frames[0])
    assert sealed is not None
    envelope = read_envelope(sealed.body)
    assert (envelope.id, envelope.sender, envelope.to) == (id_, pair.ann.id, pair.bob.id)
    assert id_ in read(inbox)[0]


@pytest.mark.req("BLT-86", "BLT-87")
async def test_an_envelope_whose_answer_was_lost_is_sent_again_and_taken_once(pair: Pair) -> None:
    inbox = pair.inbox()
    inbox.enter("one")
    post, link = posted(pair, lost_answer(inbox.receive), inbox.receive)
    await post.send(pair.peer(), HI, session="one")
    assert link.frames[0] == link.frames[1]
    assert read(inbox)[0].startswith("1 message of")


@pytest.mark.req("BLT-87")
@pytest.mark.parametrize("second", ["lost", "gone", "restarted"])
async def test_delivery_is_unknown_when_no_acknowledgement_came_for_either_try(pair: Pair, second: str) -> None:
    def restarted(frame: bytes) -> bytes:
        sealed = Sealed.of(frame)
        assert sealed is not None
        return answered(pair.bob, pair.ann, sealed.body, "early")

    ends: dict[str, Host | Exception] = {
        "lost": PeerLostError("x"),
        "gone": PeerUnreachableError("x"),
        "restarted": restarted,
    }
    post, _ = posted(pair, PeerLostError("x"), ends[second])
    error = await told(post, pair.peer())
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert error.reason.startswith("delivery to 'bob' is unknown: the connection ended before an acknowledgement came.")


@pytest.mark.req("BLT-87")
async def test_delivery_is_unknown_after_the_deadline_of_30_seconds(pair: Pair) -> None:
    class Silent:
        async def exchange(self, peer: Peer, frame: bytes) -> bytes:
            await anyio.sleep_forever()
            return b""

    assert DEADLINE_S == 30.0
    post = pair.post(lambda _: Silent(), deadline_s=0.05)
    error = await told(post, pair.peer())
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert "delivery to 'bob' is unknown: no acknowledgement came within 0.05 s" in error.reason


@pytest.mark.req("BLT-87")
async def test_an_acknowledgement_counts_only_from_that_peer_for_that_envelope(pair: Pair) -> None:
    mallory = PeerKey.new()

    def of(frame: bytes) -> bytes:
        sealed = Sealed.of(frame)
        assert sealed is not None
        return sealed.body

    def forged(frame: bytes) -> bytes:
        good = Sealed.of(answered(mallory, pair.ann, of(frame)))
        assert good is not None
        return bytes(pair.inbox().receive(frame))[:32] + good.signature + good.body

    def echoed(frame: bytes) -> bytes:
        return frame

    def reflected(frame: bytes) -> bytes:
        body = of(frame)
        return Sealed(key=frame[:32], signature=pair.bob.sign(body), body=body).to_bytes()

    def unreadable(frame: bytes) -> bytes:
        from hilt.core.envelope import answer_message
        from hilt.core.peer import key_of

        return Sealed(key=key_of(pair.bob.id), signature=pair.bob.sign(answer_message(b"{}")), body=b"{}").to_bytes()

    hosts: dict[str, tuple[Host, str]] = {
        "another agent": (lambda frame: answered(mallory, pair.ann, of(frame)), "is of another agent"),
        "another envelope": (lambda _: answered(pair.bob, pair.ann, b"other"), "is for another message"),
        "for another sender": (lambda frame: answered(pair.bob, mallory, of(frame)), "is for another message"),
        "signed by another": (forged, "has no signature of that agent"),
        "the envelope itself": (echoed, "is of another agent"),
        "the envelope, reflected": (reflected, "is of another agent"),
        "nothing": (lambda _: b"", "is of another agent"),
        "garbage": (unreadable, "cannot be read"),
    }
    for host, why in hosts.values():
        post, link = posted(pair, host)
        error = await told(post, pair.peer())
        assert error.reason.startswith("delivery to 'bob' is unknown: what came back ")
        assert why in error.reason
        assert len(link.frames) == 1


@pytest.mark.req("BLT-88")
async def test_a_refusal_is_told_with_its_reason(pair: Pair) -> None:
    inbox = pair.inbox()
    for _ in range(1024):
        inbox.receive(pair.frame())
    post, _ = posted(pair, inbox.receive)
    error = await told(post, pair.peer())
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert error.reason == "'bob' refused the message: too many messages wait there unread; try again later"


async def test_a_peer_that_cannot_be_reached_is_told_as_such(pair: Pair) -> None:
    post, _ = posted(pair, PeerUnreachableError("connection refused"))
    error = await told(post, pair.peer())
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert error.reason == "'bob' cannot be reached: connection refused; nothing was sent"


@pytest.mark.req("BLT-86")
async def test_what_does_not_fit_into_an_envelope_is_not_sent(pair: Pair) -> None:
    post, link = posted(pair)
    error = await told(post, pair.peer(), PeerMessage(body="x" * ENVELOPE_MAX_BYTES))
    assert (error.code, link.frames) == (ErrorCode.INVALID_ARGUMENTS, [])
    assert "at most 1048576" in error.reason


@pytest.mark.req("BLT-85")
async def test_the_response_to_a_request_finds_the_session_that_asked(pair: Pair) -> None:
    directory = Directory(peers=(pair.peer(),))
    own = Inbox(pair.ann, directory, clock=pair.clock)
    link = Link([pair.inbox().receive])
    post = pair.post(lambda _: link, inbox=own)
    for session in ("one", "two"):
        own.enter(session)
    id_ = await post.send(pair.peer(), PeerRequest(intent="x"), session="two")
    back = Pair(clock=pair.clock, ann=pair.bob, bob=pair.ann)
    from hilt.core.envelope import PeerResponse

    own.receive(back.frame(PeerResponse(in_reply_to=id_, status="completed", result=json.dumps(1))))
    assert (read(own), post.directory) == ([], directory)
    assert f"request {id_} is completed]" in own.take("two", Retained().keep)[0]
