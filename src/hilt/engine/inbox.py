"""What other agents sent to this one: judged as it comes in, kept until a turn takes it.

It lives in memory alone. An acknowledgement says that it was taken in here, not that a model has read it; what no turn
took when the application ends is counted in a WARN.
"""

import logging
import threading
from collections import OrderedDict, deque
from typing import Final

from hilt.core.envelope import (
    AGE_MAX_S,
    Answer,
    Envelope,
    EnvelopeError,
    Outcome,
    PeerResponse,
    Sealed,
    age_fault,
    answer_message,
    digest_of,
    envelope_message,
    read_envelope,
)
from hilt.core.letter import Letter, shown, told
from hilt.core.peer import Directory, Peer, PeerId, key_of, peer_id
from hilt.core.shaping import Keep
from hilt.ports.clock import Clock
from hilt.ports.peer import PeerKeys

logger = logging.getLogger(__name__)

WAITING_MAX: Final = 1024
WAITING_MAX_BYTES: Final = 64 * 1024 * 1024
SEEN_MAX: Final = 65_536
ASKED_MAX: Final = 4096
TOLD_MAX_BYTES: Final = 512 * 1024
LONG_MAX: Final = 16
TOLD_EVERY_S: Final = 60.0


class Inbox:
    """The letters of one agent, which may have several sessions.

    A response goes to the session that asked, while that is open. Everything else goes to `session`, or, where that is
    "", to the session that is open for the longest. `receive` may be called by other threads.
    """

    def __init__(self, keys: PeerKeys, directory: Directory, *, clock: Clock, session: str = "") -> None:
        self._keys = keys
        self._directory = directory
        self._clock = clock
        self._session = session
        self._own_key = key_of(keys.id)
        self._started_ms = self._now_ms()
        self._letters: deque[Letter] = deque()
        self._bytes = 0
        self._seen: OrderedDict[tuple[PeerId, str], tuple[str, int]] = OrderedDict()
        self._asked: OrderedDict[str, tuple[PeerId, str]] = OrderedDict()
        self._told: dict[tuple[str, str], float] = {}
        self._open: dict[str, None] = {}
        self._ended = False
        self._lock = threading.Lock()

    def enter(self, session: str) -> None:
        """Let a session take letters from now on; one that does already keeps its place."""
        with self._lock:
            self._open[session] = None

    def leave(self, session: str) -> None:
        """Let a session take none any more; those for it go to whichever receives."""
        with self._lock:
            self._open.pop(session, None)

    def end(self) -> None:
        """Refuse everything from now on, and tell how many letters nobody has read."""
        with self._lock:
            self._ended = True
            unread = len(self._letters)
            self._letters.clear()
        if unread:
            logger.warning("peer_messages_unread count=%d why=the application ended before a turn took them", unread)

    def expect(self, request: str, peer: PeerId, session: str) -> None:
        """Remember who asked what of whom, so that the response finds its session."""
        with self._lock:
            self._asked[request] = (peer, session)
            if len(self._asked) > ASKED_MAX:
                self._asked.popitem(last=False)

    def receive(self, frame: bytes) -> bytes:
        """See `Receive`."""
        sealed = Sealed.of(frame)
        if sealed is None:
            return b""
        with self._lock:
            outcome = self._judged(sealed)
        if outcome != "accepted":
            self._tell(sealed.key, outcome)
        answer = Answer(
            sender=self._keys.id, to=peer_id(sealed.key), digest=digest_of(sealed.body), outcome=outcome
        ).to_bytes()
        signature = self._keys.sign(answer_message(answer))
        return Sealed(key=self._own_key, signature=signature, body=answer).to_bytes()

    def take(self, session: str, keep: Keep) -> list[str]:
        """Return the letters for a session as one notice, none where none waits; each is returned once.

        Letters beyond 512 KiB of text, or beyond 16 that have to be cut, stay for the next turn.
        """
        with self._lock:
            mine = [letter for letter in self._letters if self._is_for(letter) == session]
            taken: list[str] = []
            size, long = 0, 0
            for letter in mine:
                long += letter.is_long
                if taken and (size > TOLD_MAX_BYTES or long > LONG_MAX):
                    break
                taken.append(shown(letter, keep))
                size += len(taken[-1])
            # By identity: two peers may have chosen the same id.
            gone = {id(letter): letter.size_bytes for letter in mine[: len(taken)]}
            self._letters = deque(letter for letter in self._letters if id(letter) not in gone)
            self._bytes -= sum(gone.values())
        return [told(taken, more=len(mine) - len(taken))] if taken else []

    def _is_for(self, letter: Letter) -> str:
        if letter.session in self._open:
            return letter.session
        return self._session or next(iter(self._open), "")

    def _judged(self, sealed: Sealed) -> Outcome:
        """Return what becomes of a frame; one that is accepted is in the inbox then."""
        if self._ended:
            return "ended"
        sender = self._directory.of_id(peer_id(sealed.key))
        if sender is None:
            return "unlisted"
        if not self._keys.verify(sealed.key, envelope_message(sealed.body), sealed.signature):
            return "unsigned"
        try:
            envelope = read_envelope(sealed.body)
        except EnvelopeError:
            return "malformed"
        if envelope.to != self._keys.id or envelope.sender != sender.id:
            return "misdirected"
        return self._admitted(envelope, sender, sealed.body)

    def _admitted(self, envelope: Envelope, sender: Peer, body: bytes) -> Outcome:
        now_ms = self._now_ms()
        fault = age_fault(envelope.time_ms, now_ms=now_ms, started_ms=self._started_ms)
        if fault is not None:
            return fault
        digest = digest_of(body)
        known = self._seen.get((sender.id, envelope.id))
        if known is not None:
            return "repeated" if known[0] == digest else "taken"
        if len(self._letters) >= WAITING_MAX or self._bytes + len(body) > WAITING_MAX_BYTES:
            return "full"
        self._forget(now_ms)
        if len(self._seen) >= SEEN_MAX:
            return "hurried"
        self._seen[sender.id, envelope.id] = (digest, envelope.time_ms)
        self._letters.append(self._letter(envelope, sender, len(body)))
        self._bytes += len(body)
        logger.info("peer_message_received peer=%s id=%s", sender.name, envelope.id)
        return "accepted"

    def _letter(self, envelope: Envelope, sender: Peer, size_bytes: int) -> Letter:
        content = envelope.content
        peer, session = (
            self._asked.get(content.in_reply_to, ("", "")) if isinstance(content, PeerResponse) else ("", "")
        )
        asked = peer == sender.id
        return Letter(
            envelope=envelope,
            sender=sender.name,
            size_bytes=size_bytes,
            session=session if asked else "",
            asked=asked,
        )

    def _forget(self, now_ms: int) -> None:
        """Forget the ids of envelopes that are refused for their age by now."""
        if len(self._seen) < SEEN_MAX:
            return
        old = [key for key, (_, time_ms) in self._seen.items() if now_ms - time_ms > AGE_MAX_S * 1000]
        for key in old:
            del self._seen[key]

    def _tell(self, key: bytes, outcome: Outcome) -> None:
        """Tell of a refusal, of each kind once a minute, so that a flood fills no log."""
        peer = self._directory.of_id(peer_id(key))
        name = "(unlisted)" if peer is None else peer.name
        now = self._clock.monotonic()
        if now - self._told.get((name, outcome), -TOLD_EVERY_S) >= TOLD_EVERY_S:
            self._told[name, outcome] = now
            logger.warning("peer_message_refused peer=%s why=%s", name, outcome)

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)
