"""A number of places: whoever wants one takes it at once or waits in line, and never are more taken than there are."""

from collections import deque

import anyio


class Places:
    """Places that are taken and given back. Those who wait get them in order, before anybody who comes later."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._free = total
        self._line: deque[anyio.Event] = deque()

    def take(self) -> bool:
        """Take a place and tell whether there was one."""
        if self._free == 0:
            return False
        self._free -= 1
        return True

    async def wait(self) -> None:
        """Take a place as soon as there is one; a caller who is cancelled holds none."""
        if self.take():
            return
        turn = anyio.Event()
        self._line.append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.give_back()
            else:
                self._line.remove(turn)
            raise

    def give_back(self) -> None:
        """Give a place back: to the first in line, if anybody waits."""
        if self._line:
            self._line.popleft().set()
        else:
            self._free += 1
