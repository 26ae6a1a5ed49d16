"""Entries that do not answer a call, answer it late, or answer another one."""

import threading
from collections.abc import Callable

from hilt.faults.core import CallFault
from hilt.faults.entry import ALL, CALLS_ALWAYS, CALLS_ONCE, HANDSHAKE, HTTP, NETWORK, Entry, Kind, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.http_exchange import HttpExchange
from hilt.faults.protocol import error, meta, notification, result
from hilt.faults.sse import SseExchange

_EVERY = Setting(name="every", default="0.1", summary="seconds between two")


class HangCall(CallFault):
    """Never answers."""

    def fault(self, exchange: Exchange) -> None:
        """Say nothing."""
        exchange.hang()


class DripComments(CallFault):
    """Sends nothings instead of an answer."""

    def fault(self, exchange: Exchange) -> None:
        """Say nothing, often."""
        while True:
            exchange.blank()
            exchange.pause(self.setup.number("every"))


class DripProgress(CallFault):
    """Sends progress instead of an answer: the same value, or rising ones."""

    def fault(self, exchange: Exchange) -> None:
        """Report progress without end."""
        token, step = meta(exchange.message).get("progressToken"), 0
        while True:
            step += self.setup.text("kind") == "rising"
            params = {"progressToken": token, "progress": 1 + step, "message": "working"}
            exchange.send(notification("notifications/progress", params))
            exchange.pause(self.setup.number("every"))


class DeafToCancel(CallFault):
    """Works on after a cancel, and answers late."""

    def fault(self, exchange: Exchange) -> None:
        """Answer after a while, whoever is still there."""
        threading.Event().wait(self.setup.number("delay"))
        self.finish(exchange)


class HangOnCancelled(CallFault):
    """Never answers a call, nor the POST that cancels it."""

    def accept(self, exchange: Exchange) -> None:
        """Say nothing to a cancellation."""
        if exchange.method == "notifications/cancelled":
            (exchange.post if isinstance(exchange, SseExchange) else exchange).hang()
        super().accept(exchange)

    def fault(self, exchange: Exchange) -> None:
        """Say nothing."""
        exchange.hang()


class WrongIds(CallFault):
    """Answers twice, under another id, under the id as a text, or two calls in the other order."""

    def started(self) -> None:
        """See `Server.started`."""
        self._later_answered = threading.Event()

    def fault(self, exchange: Exchange) -> None:
        """Answer under the wrong id."""
        value = self.completed(exchange, self.honest(exchange))
        match self.setup.text("kind"):
            case "twice":
                exchange.send(result(exchange.id, value))
                exchange.answer(result(exchange.id, value))
                return
            case "unknown":
                exchange.send(result(987654321, value))
            case "text":
                exchange.send(result(str(exchange.id), value))
            case _:
                self._wait_for_later(exchange)
                self.finish(exchange, value)
                return
        exchange.hang()

    def _wait_for_later(self, exchange: Exchange) -> None:
        """Hold the first call until the next one has been answered, or for as long as `patience` says."""
        step, waited = 0.02, 0.0
        while not self._later_answered.is_set() and waited < self.setup.number("patience"):
            exchange.pause(step)
            waited += step

    def call(self, exchange: Exchange) -> None:
        """See `CallFault.call`; notes that a later call was answered."""
        super().call(exchange)
        if exchange.nth == self.setup.count("after") + 2:
            self._later_answered.set()


_DECLARED = error(0, -32050, "the database is locked", {"table": "notes"})


class Declared(CallFault):
    """Says that the call failed, by a JSON-RPC error or by a status."""

    def fault(self, exchange: Exchange) -> None:
        """Declare the failure."""
        kind = self.setup.text("kind")
        answer = {**_DECLARED, "id": exchange.id}
        if kind == "rpc-200" or not isinstance(exchange, HttpExchange):
            exchange.answer(answer)
        elif kind.startswith("rpc-"):
            exchange.rpc(int(kind.removeprefix("rpc-")), answer)
        else:
            headers = (("Retry-After", "7"),) if kind in ("429", "503") else ()
            exchange.status(int(kind), f"failed with {kind}\n", headers)


MIMICS = {
    "closed": (-32000, "Connection closed"),
    "reset": (-32603, "[Errno 104] Connection reset by peer"),
    "session": (-32600, "Session terminated"),
    "refused": (-32000, "All connection attempts failed: Connection refused"),
    "timeout": (-32001, "Request timed out"),
    "pipe": (-32603, "BrokenPipeError: [Errno 32] Broken pipe"),
}


class Mimic(CallFault):
    """Answers with an error whose words are those of a lost connection."""

    def fault(self, exchange: Exchange) -> None:
        """Lie about the connection."""
        exchange.answer(error(exchange.id, *MIMICS[self.setup.text("kind")]))


def _kinds(names: list[str], of: Callable[[str], Kind]) -> tuple[Kind, ...]:
    return tuple(of(name) for name in names)


ENTRIES = (
    Entry(
        name="hang-call",
        section=3,
        ids=("FLT-27", "FLT-68"),
        summary="Never answers a call.",
        server=HangCall,
        settings=CALLS_ALWAYS,
    ),
    Entry(
        name="drip-comments",
        section=3,
        ids=("FLT-28",),
        summary="Sends comments or blank lines instead of the answer.",
        server=DripComments,
        settings=(*CALLS_ALWAYS, _EVERY),
    ),
    Entry(
        name="drip-progress",
        section=3,
        ids=("FLT-28",),
        summary="Sends progress instead of the answer, the same value or rising ones.",
        server=DripProgress,
        kinds=(Kind(name="same"), Kind(name="rising")),
        settings=(*CALLS_ALWAYS, _EVERY),
    ),
    Entry(
        name="deaf-to-cancel",
        section=3,
        ids=("FLT-29",),
        summary="Works on after a cancel and answers late.",
        server=DeafToCancel,
        settings=(*CALLS_ONCE, Setting(name="delay", default="3", summary="seconds until the answer")),
    ),
    Entry(
        name="hang-on-cancelled",
        section=3,
        ids=("FLT-30",),
        summary="Never answers a call, nor the POST of its cancellation.",
        server=HangOnCancelled,
        eras=HANDSHAKE,
        transports=NETWORK,
        settings=CALLS_ONCE,
    ),
    Entry(
        name="wrong-ids",
        section=3,
        ids=("FLT-31",),
        summary="Answers twice, with an unknown id, with the id as a text, or two calls in the other order.",
        server=WrongIds,
        transports=ALL,
        kinds=_kinds(["twice", "unknown", "text", "swapped"], lambda name: Kind(name=name)),
        settings=(*CALLS_ONCE, Setting(name="patience", default="5", summary="seconds to wait for the second call")),
    ),
    Entry(
        name="declared",
        section=3,
        ids=("FLT-32",),
        summary="Says that the call failed: a JSON-RPC error under 200, 400, 404, or a plain status.",
        server=Declared,
        kinds=(
            Kind(name="rpc-200"),
            *_kinds(
                ["rpc-400", "rpc-404", "403", "429", "500", "502", "503", "504"],
                lambda name: Kind(name=name, transports=HTTP),
            ),
        ),
        settings=CALLS_ONCE,
    ),
    Entry(
        name="mimic",
        section=3,
        ids=("FLT-33",),
        summary="Answers with a JSON-RPC error that reads like a lost connection.",
        server=Mimic,
        kinds=_kinds(list(MIMICS), lambda name: Kind(name=name)),
        settings=CALLS_ONCE,
    ),
)
