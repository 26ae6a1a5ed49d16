"""Filters of the jq language over JSON text, run where they can harm nothing."""

from typing import Final, Protocol

from hilt.core.errors import HiltError

INPUT_MAX_BYTES: Final = 20 * 1024 * 1024
OUTPUT_MAX_BYTES: Final = 100_000
DEADLINE_S: Final = 5.0
MEMORY_MAX_BYTES: Final = 512 * 1024 * 1024


class QueryFailedError(HiltError):
    """A filter gave no value: it does not compile, failed on its input, or breached a limit; the text says which."""


class JsonQuery(Protocol):
    """Runs filters out of this process: they see their JSON only, no file, no variable, and end at their limits.

    The limits: 20 MiB of input, 100,000 bytes of output, 5 s, 512 MiB of memory. Nothing is written to disk.
    """

    async def check(self, program: str) -> None:
        """Pass if the filter compiles.

        Raises:
            QueryFailedError: It does not.
        """
        ...

    async def run(self, program: str, text: str) -> str:
        """Return what the filter makes of one JSON text: `null` for no output, one value, or an array of several.

        Whole numbers of any size that the filter passes on keep their digits.

        Raises:
            QueryFailedError: It gave no value.
        """
        ...
