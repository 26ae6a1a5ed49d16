"""All expectations, by entry; importing this module fills the table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.faults.matrix import answers, at_start, calls, closing, cuts, lists, notices, pipes, restarts, sizes
from tests.faults.matrix.table import EXPECTED, Expectation

__all__ = ["ALL", "MODULES"]

MODULES: Final = (answers, at_start, calls, closing, cuts, lists, notices, pipes, restarts, sizes)
ALL: Final[Mapping[str, Expectation]] = MappingProxyType(EXPECTED)
