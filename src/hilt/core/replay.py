"""What a failed MCP exchange means: is the connection gone, may the call be sent again.

The table is section 9 of mcp-client.md. Only typed causes decide; text written by the peer never does.
"""

from dataclasses import dataclass
from enum import StrEnum

PAUSE_FIRST_S = 1.0
PAUSE_MAX_S = 60.0
PAUSE_SPREAD = 0.2


class Fault(StrEnum):
    """Typed cause of a failed exchange.

    NOT_SENT: nothing of the request was written (refused, name, TLS). SESSION_LOST: a plain 404 to a request
    with a session id. SESSION_ENDED: 400 or 404 with a JSON-RPC error that is not for this request. DECLARED:
    a JSON-RPC error with this request's id. HTTP_STATUS: another 4xx or 5xx. CUT: the connection, stream or
    process ended after writing. TIMEOUT: our own deadline. PROTOCOL: an answer
    that is none. CLOSED: we closed the connection ourselves.
    """

    NOT_SENT = "not_sent"
    SESSION_LOST = "session_lost"
    SESSION_ENDED = "session_ended"
    DECLARED = "declared"
    HTTP_STATUS = "http_status"
    CUT = "cut"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What follows from a fault.

    `drop`: the connection is given up, the next send needs a new one. `again`: this call is sent once more
    after the reconnect. `outcome_unknown`: the server may have carried the call out, and it is not sent
    again.
    """

    drop: bool = False
    again: bool = False
    outcome_unknown: bool = False


def judge(fault: Fault, *, repeatable: bool, dialled: bool) -> Verdict:
    """Return what to do after `fault`.

    `repeatable`: the call is annotated read-only or idempotent. `dialled`: it has caused its one dial
    already, or has been sent twice, so that it is never sent again.
    """
    match fault:
        case Fault.NOT_SENT | Fault.SESSION_LOST:
            return Verdict(drop=True, again=not dialled)
        case Fault.SESSION_ENDED:
            return Verdict(drop=True)
        case Fault.CUT:
            again = repeatable and not dialled
            return Verdict(drop=True, again=again, outcome_unknown=not repeatable)
        case _:
            return Verdict()


def pause_s(failures: int, *, chance: float, first_s: float = PAUSE_FIRST_S) -> float:
    """Return how many seconds no dial is made after `failures` failed dials in a row.

    `chance` in 0..1 spreads it by ± 20 %, so that clients of one server do not come back together.
    """
    if failures < 1:
        return 0.0
    plain = min(first_s * 2.0 ** min(failures - 1, 16), PAUSE_MAX_S)
    return plain * (1 - PAUSE_SPREAD + 2 * PAUSE_SPREAD * chance)
