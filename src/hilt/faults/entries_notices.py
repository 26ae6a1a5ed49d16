"""Entries that send what nobody asked for: notices, and requests to the client."""

from collections.abc import Iterator
from typing import Final

from hilt.faults.core import CallFault, Server, notice
from hilt.faults.entry import CALLS_ALWAYS, HANDSHAKE, HTTP, Entry, Kind, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.http_exchange import HttpExchange
from hilt.faults.protocol import Json, notification, request

CHANGED: Final = "notifications/tools/list_changed"


class ListChangedStorm(Server):
    """Sends a storm of notices on each standing channel."""

    def standing(self, exchange: Exchange) -> None:
        """Send them, then hold the channel."""
        for _ in range(self.setup.count("count")):
            exchange.send(notice(exchange, CHANGED))
        self.log.write("storm", count=self.setup.count("count"))
        exchange.hang()


class ListChangedOnList(Server):
    """Sends a notice with each list that it gives."""

    def list_tools(self, exchange: Exchange) -> None:
        """Answer and notify."""
        self.log.write("notified", channels=self.notify(CHANGED))
        self.finish(exchange)


class GetHostile(Server):
    """Closes each standing stream at once."""

    def stream(self, exchange: HttpExchange) -> None:
        """Close."""
        exchange.end()

    def listen(self, exchange: Exchange) -> None:
        """Close."""
        exchange.end()


class Get405(Server):
    """Has no standing stream."""

    def stream(self, exchange: HttpExchange) -> None:
        """Say so."""
        exchange.status(405, headers=(("Allow", "POST, DELETE"),))


_SCHEMA: Final[Json] = {"type": "object", "properties": {"name": {"type": "string"}}}
_QUESTION: Final[Json] = {"mode": "form", "message": "Your name?", "requestedSchema": _SCHEMA}
_SAMPLE: Final[Json] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello."}}],
    "maxTokens": 10,
}
_REQUESTS: Final[dict[str, tuple[str, Json]]] = {
    "pings": ("ping", {}),
    "unknown": ("kit/unknown", {"x": 1}),
    "elicitations": ("elicitation/create", _QUESTION),
    "sampling": ("sampling/createMessage", _SAMPLE),
    "roots": ("roots/list", {}),
}


class Asking(CallFault):
    """Floods the client during a call, then answers."""

    def fault(self, exchange: Exchange) -> None:
        """Ask and tell, then answer."""
        for message in self._flood(exchange.nth):
            exchange.send(message)
        self.finish(exchange)

    def _flood(self, nth: int) -> Iterator[Json]:
        kind = self.setup.text("kind")
        for number in range(self.setup.count("count")):
            # Ids are numbers and texts in turn, and none is used twice.
            own = nth * 1_000_000 + number
            if kind in _REQUESTS:
                yield request(own if number % 2 else f"ask-{own}", *_REQUESTS[kind])
            elif kind == "logs":
                told = {"level": "info", "logger": "kit", "data": f"line {number} " + "x" * 2000}
                yield notification("notifications/message", told)
            else:
                foreign = {"progressToken": f"foreign-{number}", "progress": number}
                yield notification("notifications/progress", foreign)


ENTRIES = (
    Entry(
        name="list-changed-storm",
        section=4,
        ids=("FLT-58",),
        summary="Sends 10,000 notices of a changed list on each standing channel.",
        server=ListChangedStorm,
        settings=(Setting(name="count", default="10000", summary="notices on each channel"),),
    ),
    Entry(
        name="list-changed-on-list",
        section=4,
        ids=("FLT-58",),
        summary="Sends a notice of a changed list with each list.",
        server=ListChangedOnList,
    ),
    Entry(
        name="get-hostile",
        section=4,
        ids=("FLT-59",),
        summary="Closes each standing stream at once.",
        server=GetHostile,
        transports=HTTP,
    ),
    Entry(
        name="get-405",
        section=4,
        ids=("FLT-59",),
        summary="Answers 405 to the GET of a standing stream.",
        server=Get405,
        eras=HANDSHAKE,
        transports=HTTP,
    ),
    Entry(
        name="asking",
        section=4,
        ids=("FLT-60",),
        summary="Floods the client during a call with requests or notifications, then answers.",
        server=Asking,
        kinds=(
            *(Kind(name=name, eras=HANDSHAKE) for name in _REQUESTS),
            Kind(name="logs"),
            Kind(name="progress"),
        ),
        settings=(*CALLS_ALWAYS, Setting(name="count", default="100", summary="messages before the answer")),
    ),
)
