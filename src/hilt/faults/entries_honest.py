"""The one server that does nothing wrong, to compare with."""

from hilt.faults.core import Server
from hilt.faults.entry import Entry

ENTRIES = (
    Entry(
        name="honest",
        section=1,
        ids=("FLT-01",),
        summary="Does nothing wrong: the server that all others deviate from.",
        server=Server,
    ),
)
