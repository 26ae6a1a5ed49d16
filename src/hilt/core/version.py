"""The version of hilt and of the protocols that it speaks; alone here, so that printing them loads nothing else.

`VERSION` is what pyproject.toml has; asking the installed package would cost 15 ms of each start.
"""

from typing import Final

VERSION: Final = "0.1.0"

HANDSHAKE_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISIONS: Final = ("2026-07-28",)
