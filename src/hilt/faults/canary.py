"""A second address that nobody has a reason to ask: what comes there is written to the log."""

from hilt.faults.http import Connection, Listener
from hilt.faults.log import Log


class Canary:
    """Listens on a port of its own, so at another origin, and answers everything with an empty 200."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._listener = Listener(self._serve, log=Log(None))
        self.origin = self._listener.origin
        self.close = self._listener.close
        log.write("canary", address=self.origin)

    def _serve(self, connection: Connection) -> None:
        self._log.write("disturbed")
        while (request := connection.read()) is not None:
            self._log.write("disturbed", verb=request.verb, path=request.path, headers=request.headers)
            connection.reply(200)
