import pytest

from hilt.adapters.mcp_events import EventReader, EventTooLongError, StreamEvent

STREAM = (
    b"\xef\xbb\xbf: comment\r\n"
    b"id: 1\nretry: 700\ndata:\n\n"
    b'event: message\rdata: {"a":\rdata:1}\r\r'
    b"\r\n\n"
    b"unknown: x\nid\ndata: two\r\n\r\n"
    b"retry: soon\nid: \x00\n\n"
    b"data: cut off"
)
EVENTS = [
    StreamEvent(id="1", retry_ms=700),
    StreamEvent(name="message", data=b'{"a":\n1}'),
    StreamEvent(data=b"two", id=""),
]


@pytest.mark.req("MCP-25")
@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_a_stream_cut_anywhere_gives_the_same_events(step: int) -> None:
    reader = EventReader(1000)
    events = [event for at in range(0, len(STREAM), step) for event in reader.feed(STREAM[at : at + step])]
    assert events == EVENTS


def test_an_empty_chunk_changes_nothing() -> None:
    reader = EventReader(1000)
    assert reader.feed(b"data: a\r") == []
    assert reader.feed(b"") == []
    assert reader.feed(b"\n\r\n") == [StreamEvent(data=b"a")]


@pytest.mark.req("MCP-28")
@pytest.mark.parametrize("stream", [b"data: " + b"x" * 100, b"data: xxxxxxxx\n" * 10])
def test_an_event_over_the_limit_is_refused(stream: bytes) -> None:
    with pytest.raises(EventTooLongError):
        EventReader(64).feed(stream)
