"""Pages of sessions, by time of creation and id; a cursor stays right while sessions are added."""

import base64
import binascii
import json
from collections.abc import Iterable

from hilt.core.errors import RequestError

PAGE_MAX = 200

Place = tuple[str, str]


def page_of(places: Iterable[Place], *, cursor: str, limit: int) -> tuple[list[Place], str]:
    """Return the places behind the cursor, at most `limit` and 200, and the next cursor.

    A place is time of creation and id. The next cursor is "" when nothing is left.

    Raises:
        RequestError: The cursor was not made here.
    """
    size = min(max(limit, 1), PAGE_MAX)
    behind = _place(cursor)
    left = sorted(place for place in places if behind is None or place > behind)
    chosen = left[:size]
    return chosen, _cursor(chosen[-1]) if len(left) > size else ""


def _cursor(place: Place) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _place(cursor: str) -> Place | None:
    if not cursor:
        return None
    try:
        raw: object = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
    except (ValueError, binascii.Error):
        raw = None
    match raw:
        case [str(created_at), str(session_id)]:
            return created_at, session_id
        case _:
            raise RequestError(f"cursor {cursor[:80]!r} is not one that a list gave")
