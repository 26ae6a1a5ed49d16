"""Entries that make it hard to leave."""

from typing import Final

from hilt.faults.core import Server
from hilt.faults.entry import HANDSHAKE, HTTP, Entry, Setting
from hilt.faults.http_exchange import HttpExchange


class OddDelete(Server):
    """Answers the DELETE of a session with an error, or very late."""

    def delete(self, exchange: HttpExchange) -> None:
        """Answer."""
        how = self.setup.entry.removeprefix("delete-")
        if how == "slow":
            exchange.pause(self.setup.number("delay"))
            exchange.status(200)
        else:
            exchange.status(int(how), "no\n")


_DELAY: Final = (Setting(name="delay", default="60", summary="seconds until the answer"),)
_SUMMARIES: Final = {
    "delete-404": "Answers the DELETE of a session with 404.",
    "delete-405": "Answers the DELETE of a session with 405.",
    "delete-500": "Answers the DELETE of a session with 500.",
    "delete-slow": "Answers the DELETE of a session after a minute.",
}

ENTRIES = tuple(
    Entry(
        name=name,
        section=6,
        ids=("FLT-67",),
        summary=summary,
        server=OddDelete,
        eras=HANDSHAKE,
        transports=HTTP,
        settings=_DELAY if name == "delete-slow" else (),
    )
    for name, summary in _SUMMARIES.items()
)
