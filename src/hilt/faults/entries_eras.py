"""Entries that make the two protocol eras hard to tell apart."""

from hilt.faults.core import Server
from hilt.faults.entry import ALL, HANDSHAKE, HTTP, STATELESS, STDIO, Entry, Setting
from hilt.faults.exchange import Exchange
from hilt.faults.http_exchange import over_http
from hilt.faults.protocol import Era, Transport


class Probe503(Server):
    """Is busy when it is first asked for its era."""

    def opening(self, exchange: Exchange) -> None:
        """Answer from the second time on."""
        if exchange.nth == 1:
            over_http(exchange).status(503, "starting\n")
        else:
            self.finish(exchange)


class ProbeHang(Server):
    """Ignores the probe, knowing the handshake alone."""

    def probed(self, exchange: Exchange) -> None:
        """Say nothing."""
        exchange.hang()


class ProbeExit(Server):
    """Exits on the probe, knowing the handshake alone."""

    def probed(self, exchange: Exchange) -> None:
        """Leave."""
        exchange.cut()


class EraChange(Server):
    """Restarts after a call and comes back in the other era."""

    def started(self) -> None:
        """Take the first of the given eras at odd starts."""
        first = self.setup.eras[0]
        self.eras = (first,) if self.setup.starts % 2 else (_other(first),)

    def call(self, exchange: Exchange) -> None:
        """Answer, then restart."""
        self.finish(exchange)
        if exchange.nth == self.setup.count("after"):
            self._restart(exchange)

    def _restart(self, exchange: Exchange) -> None:
        if self.setup.transport is Transport.STDIO:
            exchange.end()
        if self.listener is not None:
            self.listener.leave()
            self.eras = (_other(self.eras[0]),)
            self.sessions.clear()
            self.log.write("restart", era=self.eras[0])
            self.listener.listen()


def _other(era: Era) -> Era:
    return Era.STATELESS if era is Era.HANDSHAKE else Era.HANDSHAKE


ENTRIES = (
    Entry(
        name="probe-503",
        section=2,
        ids=("FLT-20",),
        summary="Answers the first server/discover with 503, the next properly.",
        server=Probe503,
        eras=STATELESS,
        transports=HTTP,
    ),
    Entry(
        name="probe-hang",
        section=2,
        ids=("FLT-21",),
        summary="Never answers server/discover, and knows the handshake alone.",
        server=ProbeHang,
        eras=HANDSHAKE,
        transports=ALL,
    ),
    Entry(
        name="probe-exit",
        section=2,
        ids=("FLT-21",),
        summary="Exits on server/discover, and knows the handshake alone.",
        server=ProbeExit,
        eras=HANDSHAKE,
        transports=STDIO,
    ),
    Entry(
        name="era-change",
        section=2,
        ids=("FLT-22",),
        summary="Restarts after a call in the other era; over stdio it exits, and counts starts by its log.",
        server=EraChange,
        transports=(Transport.HTTP, Transport.STDIO),
        settings=(Setting(name="after", default="1", summary="the call after which it restarts"),),
    ),
)
