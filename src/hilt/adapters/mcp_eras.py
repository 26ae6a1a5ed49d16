"""Finds out which protocol era a server speaks, and opens the session in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from hilt.core.mcp import Protocol as Era
from hilt.core.version import HANDSHAKE_REVISIONS, STATELESS_REVISIONS
from hilt.ports.mcp import Fault, McpFault, ServerFacts

UNSUPPORTED_REVISION = -32022
_TRANSIENT = frozenset({401, 403, 408, 425, 429})
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"


class Peer(Protocol):
    """A connection whose era is not settled."""

    async def ask(self, method: str, params: Mapping[str, object], *, revision: str) -> Mapping[str, object]:
        """Send one request that is never cancelled; `revision` "" sends none beside it.

        Raises:
            McpFault: It failed.
        """
        ...

    async def probe(self, revision: str, *, timeout_s: float) -> Mapping[str, object]:
        """Send `server/discover` in the stateless form.

        Raises:
            McpFault: It failed, or took longer than `timeout_s`.
        """
        ...

    async def opened(self, facts: ServerFacts) -> None:
        """Take the outcome; in the handshake era tell the server."""
        ...


class AfterProbe(Enum):
    """What follows from a probe that failed."""

    HANDSHAKE = auto()
    HANDSHAKE_ONCE = auto()
    RESTART = auto()
    FAIL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A settled era; `sure` allows it to be remembered for the next dial."""

    facts: ServerFacts
    sure: bool


class ProbeKilledError(Exception):
    """The process ended on the probe; start it again and shake hands."""


def after_probe(fault: McpFault, *, stdio: bool) -> AfterProbe:
    """Return what a failed `server/discover` says of the server; a transient failure says nothing."""
    match fault.fault:
        case Fault.DECLARED:
            return AfterProbe.HANDSHAKE if _may_shake_hands(fault) else AfterProbe.FAIL
        case Fault.HTTP_STATUS | Fault.SESSION_ENDED | Fault.SESSION_LOST:
            status = fault.status or 0
            if not 400 <= status < 500 or status in _TRANSIENT:
                return AfterProbe.FAIL
            return AfterProbe.HANDSHAKE if _may_shake_hands(fault) else AfterProbe.FAIL
        case Fault.TIMEOUT | Fault.PROTOCOL:
            return AfterProbe.HANDSHAKE_ONCE
        case Fault.CUT if stdio:
            return AfterProbe.RESTART
        case _:
            return AfterProbe.FAIL


def refuses_era(fault: McpFault) -> bool:
    """Whether the server will not have the era that it was known to speak; a transient failure is no refusal."""
    if fault.fault in (Fault.DECLARED, Fault.PROTOCOL):
        return True
    return 400 <= (fault.status or 0) < 500 and fault.status not in _TRANSIENT


def _may_shake_hands(fault: McpFault) -> bool:
    if fault.code != UNSUPPORTED_REVISION:
        return True
    listed = _listed(fault)
    return listed is None or any(revision in listed for revision in HANDSHAKE_REVISIONS)


async def negotiate(peer: Peer, *, protocol: Era, probe_s: float, stdio: bool, hello: Mapping[str, object]) -> Opened:
    """Settle the era; `hello` are the params of `initialize` but for the revision.

    Raises:
        McpFault: No session; a transient failure pins no era.
        ProbeKilledError: A stdio server ended on the probe.
    """
    if protocol == "handshake":
        return Opened(facts=await _shake_hands(peer, hello), sure=True)
    try:
        answer = await _probed(peer, probe_s)
    except McpFault as fault:
        next_step = after_probe(fault, stdio=stdio)
        if protocol == "stateless" or next_step is AfterProbe.FAIL:
            raise
        if next_step is AfterProbe.RESTART:
            raise ProbeKilledError from fault
        try:
            return Opened(facts=await _shake_hands(peer, hello), sure=next_step is AfterProbe.HANDSHAKE)
        except McpFault as refusal:
            revision = _common(refusal)
            if revision is None:
                raise
            # The probe was lost, and the server says now what it speaks.
            answer = await peer.probe(revision, timeout_s=probe_s)
    facts = _discovered(answer)
    if facts is None:
        if protocol == "stateless":
            raise McpFault(Fault.PROTOCOL, "the server offers no stateless revision that is known here")
        return Opened(facts=await _shake_hands(peer, hello), sure=True)
    await peer.opened(facts)
    return Opened(facts=facts, sure=True)


async def _probed(peer: Peer, probe_s: float) -> Mapping[str, object]:
    """Probe with our newest revision; one that is refused for another that we speak is asked once more with that.

    Raises:
        McpFault: It failed.
    """
    try:
        return await peer.probe(STATELESS_REVISIONS[-1], timeout_s=probe_s)
    except McpFault as fault:
        revision = _common(fault)
        if revision is None:
            raise
    return await peer.probe(revision, timeout_s=probe_s)


def _common(fault: McpFault) -> str | None:
    """Return the newest stateless revision that a refusal names and we speak."""
    listed = _listed(fault) if fault.code == UNSUPPORTED_REVISION else None
    return next((revision for revision in reversed(STATELESS_REVISIONS) if revision in (listed or ())), None)


def _listed(fault: McpFault) -> list[object] | None:
    """Return the revisions that a refusal names, None where it names none."""
    listed = fault.details.get("supported") if isinstance(fault.details, Mapping) else None
    return listed if isinstance(listed, list) else None


def _discovered(answer: Mapping[str, object]) -> ServerFacts | None:
    listed, capabilities = answer.get("supportedVersions"), answer.get("capabilities")
    if not isinstance(listed, list) or not isinstance(capabilities, Mapping):
        return None
    common = [revision for revision in STATELESS_REVISIONS if revision in listed]
    if not common:
        return None
    meta = answer.get("_meta")
    server = meta.get(_SERVER_KEY) if isinstance(meta, Mapping) else None
    return _facts(answer, server, revision=common[-1], era="stateless")


async def _shake_hands(peer: Peer, hello: Mapping[str, object]) -> ServerFacts:
    answer = await peer.ask("initialize", {"protocolVersion": HANDSHAKE_REVISIONS[-1], **hello}, revision="")
    revision = answer.get("protocolVersion")
    if revision not in HANDSHAKE_REVISIONS:
        raise McpFault(Fault.PROTOCOL, f"the server speaks revision {str(revision)[:40]!r}, which is not known here")
    facts = _facts(answer, answer.get("serverInfo"), revision=str(revision), era="handshake")
    await peer.opened(facts)
    return facts


def _facts(answer: Mapping[str, object], server: object, *, revision: str, era: str) -> ServerFacts:
    named = server if isinstance(server, Mapping) else {}
    capabilities, instructions = answer.get("capabilities"), answer.get("instructions")
    return ServerFacts(
        name=_text(named.get("name")),
        version=_text(named.get("version")),
        revision=revision,
        era=era,
        instructions=_text(instructions),
        capabilities=capabilities if isinstance(capabilities, Mapping) else {},
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
