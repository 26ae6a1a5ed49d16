"""Places of sessions: counted from before they are made until they are closed."""

import pytest

from hilt.core.errors import RequestError
from hilt.engine.session_places import SessionPlaces


@pytest.mark.req("SES-80", "SES-81", "SES-82")
def test_a_place_is_taken_refused_at_the_cap_and_freed_once() -> None:
    places = SessionPlaces(max_open=3, max_own_engines=1)
    free_own = places.take(own=True)
    free = places.take(own=False)
    with pytest.raises(RequestError, match="of their own") as own:
        places.take(own=True)
    places.take(own=False)
    assert places.full
    with pytest.raises(RequestError, match="3 sessions are open") as full:
        places.take(own=False)
    assert (own.value.code, full.value.code) == ("cap_reached", "cap_reached")
    free()
    free()
    free_own()
    assert (places.open, places.own_engines, places.full) == (1, 0, False)
    places.take(own=True)


def test_without_caps_there_is_always_one() -> None:
    places = SessionPlaces()
    for _ in range(100):
        places.take(own=True)
    assert (places.open, places.own_engines, places.full) == (100, 100, False)
