"""What agents send one another: signed envelopes and signed answers, as values and as bytes (builtins.md section 7).

A frame is the sender's public key (32 bytes), its signature (64) and a body of JSON. What is signed is a text that says
what the body is for, and the body's own bytes: nobody has to write the same JSON again to check a signature.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final, Literal

from hilt.core.peer import ID_PATTERN, KEY_BYTES, PeerId

VERSION: Final = 1
ENVELOPE_MAX_BYTES: Final = 1024 * 1024
ANSWER_MAX_BYTES: Final = 1024
AGE_MAX_S: Final = 300
SIGNATURE_BYTES: Final = 64
HEAD_BYTES: Final = KEY_BYTES + SIGNATURE_BYTES
FRAME_MAX_BYTES: Final = HEAD_BYTES + ENVELOPE_MAX_BYTES
ANSWER_FRAME_MAX_BYTES: Final = HEAD_BYTES + ANSWER_MAX_BYTES

_ENVELOPE_DOMAIN: Final = b"hilt-peer/1 envelope\n"
_ANSWER_DOMAIN: Final = b"hilt-peer/1 answer\n"
_ID: Final = re.compile(r"[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}")
_TIME_MAX_MS: Final = 2**53
_HEAD_KEYS: Final = frozenset({"v", "id", "from", "to", "time_ms", "kind"})
_CODEC: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)

Status = Literal["accepted", "completed", "failed"]
STATUSES: Final[tuple[Status, ...]] = ("accepted", "completed", "failed")

Outcome = Literal[
    "accepted",
    "repeated",
    "taken",
    "full",
    "hurried",
    "stale",
    "ahead",
    "early",
    "unlisted",
    "unsigned",
    "misdirected",
    "malformed",
    "ended",
]
"""What a host made of an envelope. `repeated` is an envelope that it has accepted before, to the byte."""

REFUSALS: Final[dict[str, str]] = {
    "repeated": "it has accepted this message before",
    "taken": "another message had this id before",
    "full": "too many messages wait there unread; try again later",
    "hurried": "it has accepted too many messages in the last minutes; try again later",
    "stale": f"by its clock the message is older than {AGE_MAX_S // 60} minutes; the clocks differ, tell your user",
    "ahead": f"by its clock the message is dated more than {AGE_MAX_S // 60} minutes ahead; the clocks differ, tell "
    "your user",
    "early": "by its clock the message was written before that agent started; send it again",
    "unlisted": "its comms.peers does not list this agent's key; tell your user",
    "unsigned": "the signature does not fit",
    "misdirected": "it is another agent than the one that the message is for; tell your user",
    "malformed": "it cannot read the message; the versions may differ",
    "ended": "it is about to end",
}


class EnvelopeError(ValueError):
    """What is no envelope, or does not fit into one; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerMessage:
    """Something to read, without an answer that is waited for."""

    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRequest:
    """Something to do: what is wanted in a word or a sentence, and whatever JSON belongs to it."""

    intent: str
    params: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerResponse:
    """What became of a request, which it names by its id."""

    in_reply_to: str
    status: Status
    result: object = None


Content = PeerMessage | PeerRequest | PeerResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One content on its way. `id` is a UUIDv7 in hex, `time_ms` Unix time in milliseconds by the sender's clock."""

    id: str
    sender: PeerId
    to: PeerId
    time_ms: int
    content: Content

    def to_bytes(self) -> bytes:
        """Return the body of the envelope's frame: JSON with sorted keys, the same bytes in every process.

        Raises:
            EnvelopeError: It holds what is no JSON, or is larger than 1 MiB.
        """
        head = {
            "v": VERSION,
            "id": self.id,
            "from": self.sender,
            "to": self.to,
            "time_ms": self.time_ms,
            **_written(self.content),
        }
        try:
            body = _CODEC.encode(head).encode("utf-8", "replace")
        except (TypeError, ValueError, RecursionError) as exc:
            raise EnvelopeError(f"it cannot be written as JSON ({exc})") from None
        if len(body) > ENVELOPE_MAX_BYTES:
            raise EnvelopeError(f"it has {len(body)} bytes; an envelope has at most {ENVELOPE_MAX_BYTES}")
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the host of `sender` says to `to` about the envelope with this digest: `accepted`, or why not."""

    sender: PeerId
    to: PeerId
    digest: str
    outcome: str

    def to_bytes(self) -> bytes:
        """Return the body of the answer's frame."""
        body = {"v": VERSION, "from": self.sender, "to": self.to, "digest": self.digest, "outcome": self.outcome}
        return _CODEC.encode(body).encode("ascii")

    @property
    def accepted(self) -> bool:
        """Whether the host has the envelope: it took it now, or has taken the same bytes before."""
        return self.outcome in ("accepted", "repeated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A frame in its three parts; nothing of it is checked."""

    key: bytes
    signature: bytes
    body: bytes

    def to_bytes(self) -> bytes:
        """Return the frame."""
        return self.key + self.signature + self.body

    @classmethod
    def of(cls, frame: bytes) -> "Sealed | None":
        """Return the parts of a frame, None where it is too short to be one."""
        if len(frame) <= HEAD_BYTES:
            return None
        return cls(key=frame[:KEY_BYTES], signature=frame[KEY_BYTES:HEAD_BYTES], body=frame[HEAD_BYTES:])


def envelope_message(body: bytes) -> bytes:
    """Return what is signed for an envelope."""
    return _ENVELOPE_DOMAIN + body


def answer_message(body: bytes) -> bytes:
    """Return what is signed for an answer."""
    return _ANSWER_DOMAIN + body


def digest_of(body: bytes) -> str:
    """Return the digest by which an answer names an envelope."""
    return hashlib.sha256(body).hexdigest()


def is_id(text: str) -> bool:
    """Tell whether a text is the id of an envelope."""
    return _ID.fullmatch(text) is not None


def age_fault(time_ms: int, *, now_ms: int, started_ms: int) -> Outcome | None:
    """Return what is wrong with the time of an envelope, None where nothing is.

    `started_ms` is when its receiver began to remember ids: what was written before may have been accepted already.
    """
    if now_ms - time_ms > AGE_MAX_S * 1000:
        return "stale"
    if time_ms - now_ms > AGE_MAX_S * 1000:
        return "ahead"
    return "early" if time_ms < started_ms else None


def read_envelope(body: bytes) -> Envelope:
    """Return the envelope of a frame's body.

    Raises:
        EnvelopeError: It is none.
    """
    if len(body) > ENVELOPE_MAX_BYTES:
        raise EnvelopeError(f"more than {ENVELOPE_MAX_BYTES} bytes")
    value = _object(body)
    id_, time_ms = value.get("id"), value.get("time_ms")
    if not isinstance(id_, str) or not is_id(id_):
        raise EnvelopeError("id")
    if not isinstance(time_ms, int) or isinstance(time_ms, bool) or not 0 <= time_ms < _TIME_MAX_MS:
        raise EnvelopeError("time_ms")
    return Envelope(
        id=id_, sender=_agent(value, "from"), to=_agent(value, "to"), time_ms=time_ms, content=_content(value)
    )


def read_answer(body: bytes) -> Answer:
    """Return the answer of a frame's body.

    Raises:
        EnvelopeError: It is none.
    """
    value = _object(body)
    outcome, digest = value.get("outcome"), value.get("digest")
    if not isinstance(outcome, str) or not isinstance(digest, str):
        raise EnvelopeError("outcome")
    return Answer(sender=_agent(value, "from"), to=_agent(value, "to"), digest=digest, outcome=outcome)


def refusal(outcome: str) -> str:
    """Return why a host refused, in words that the sender's model reads; the host's own text is never among them."""
    return REFUSALS.get(outcome, "it gave a reason that this version does not know")


def _written(content: Content) -> dict[str, object]:
    match content:
        case PeerMessage(body=body):
            return {"kind": "message", "body": body}
        case PeerRequest(intent=intent, params=params):
            return {"kind": "request", "intent": intent, "params": params}
        case PeerResponse(in_reply_to=request, status=status, result=result):
            return {"kind": "response", "in_reply_to": request, "status": status, "result": result}


def _content(value: dict[str, object]) -> Content:
    rest = {key: value[key] for key in value.keys() - _HEAD_KEYS}
    match value.get("kind"), rest:
        case "message", {"body": str(body), **more} if not more:
            return PeerMessage(body=body)
        case "request", {"intent": str(intent), "params": params, **more} if not more:
            return PeerRequest(intent=intent, params=params)
        case "response", {"in_reply_to": str(request), "status": status, "result": result, **more} if not more:
            found = next((known for known in STATUSES if known == status), None)
            if found is not None and is_id(request):
                return PeerResponse(in_reply_to=request, status=found, result=result)
    raise EnvelopeError("kind, or what belongs to it")


def _object(body: bytes) -> dict[str, object]:
    try:
        value: object = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise EnvelopeError("no JSON") from None
    if not isinstance(value, dict) or value.get("v") != VERSION:
        raise EnvelopeError(f"no object of version {VERSION}")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _agent(value: dict[str, object], key: str) -> PeerId:
    text = value.get(key)
    if not isinstance(text, str) or re.fullmatch(ID_PATTERN, text) is None:
        raise EnvelopeError(key)
    return PeerId(text)
