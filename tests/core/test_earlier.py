"""Messages that gave way: their numbers, what is kept of them, and the passages that a query finds."""

import pytest

from hilt.core.earlier import EarlierMessage, counted, earlier_messages
from hilt.core.passage import passages
from hilt.core.session import AssistantMessage, Message, SummaryMessage, ToolMessage, UserMessage
from hilt.core.tool import ToolCall, ToolResult

MESSAGES: list[Message] = [
    SummaryMessage(text="before"),
    UserMessage(text="Where is the port?"),
    AssistantMessage(text="I look.", calls=(ToolCall("c1", "Grep", '{"pattern": "port"}'), ToolCall("c2", "Read"))),
    ToolMessage(results=(ToolResult("c1", "port = 5433"), ToolResult("c2", "nothing"))),
    UserMessage(text="job ended", notice=True),
    AssistantMessage(calls=(ToolCall("c3", "memory_search", '{"query": "zebra"}'),)),
    ToolMessage(results=(ToolResult("c3", "[a zebra once more]"),)),
]


def test_every_message_but_a_summary_has_a_number() -> None:
    kept = earlier_messages(MESSAGES, after=4)
    assert counted(MESSAGES) == len(kept) == 6
    assert [(one.number, one.role) for one in kept] == [
        *((5, "user"), (6, "assistant"), (7, "tool"), (8, "notice"), (9, "assistant"), (10, "tool")),
    ]
    assert kept[1].text == 'I look.\nGrep {"pattern": "port"}\nRead {}'
    assert kept[2].text == "port = 5433\nnothing"


def test_what_a_search_found_is_not_kept_once_more() -> None:
    assert [one.text for one in earlier_messages(MESSAGES, after=0)[-2:]] == ["", ""]
    assert passages(earlier_messages(MESSAGES, after=0), "zebra memory search query", limit=5, max_chars=1000) == []


@pytest.mark.req("BLT-75", "BLT-76")
def test_a_passage_is_a_message_or_an_answer_with_its_results() -> None:
    found = passages(earlier_messages(MESSAGES, after=0), "port 5433", limit=5, max_chars=1000)
    assert [(one.start, one.end) for one in found] == [(2, 3), (1, 1)]
    assert "assistant: I look." in found[0].content
    assert "tool: port = 5433" in found[0].content
    assert 1 >= found[0].score > found[1].score > 0
    assert passages(earlier_messages(MESSAGES, after=0), "user assistant tool zero", limit=5, max_chars=9) == []
    assert passages(earlier_messages(MESSAGES, after=0), "'", limit=5, max_chars=9) == []


def test_passages_are_cut_and_counted() -> None:
    long = [EarlierMessage(number=n, role="user", text=f"{'x ' * 500} word{n} common") for n in range(1, 6)]
    found = passages(long, "common", limit=3, max_chars=100)
    assert [one.start for one in found] == [5, 4, 3]
    assert all("common" in one.content and len(one.content) <= 102 for one in found)


def test_results_without_their_answer_stand_alone() -> None:
    kept = [EarlierMessage(number=7, role="tool", text="alone"), EarlierMessage(number=8, role="tool", text="alone")]
    assert [(one.start, one.end) for one in passages(kept, "alone", limit=9, max_chars=99)] == [(8, 8), (7, 7)]
