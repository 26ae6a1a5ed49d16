"""HTML as Markdown, of pages that nobody would write for a reader."""

import anyio
import anyio.to_thread
import pytest

from hilt.builtins.web.markdown import ADDRESSES_MAX_CHARS, BASE_MAX_CHARS, DEEP_NOTE, to_markdown

BASE = "https://example.com/a/b"
LONG = "https://example.com/" + "p" * (BASE_MAX_CHARS - 22) + "/"
HOSTILE = {
    "deep": "<div>" * 300_000 + "x",
    "deep lists": "<ul><li>" * 50_000 + "x",
    "deep quotes": "<blockquote>" * 50_000 + "x",
    "deep tables": "<table><tr><td>" * 20_000 + "x",
    "misnested": "<p>" + "<b>1<p>" * 20_000,
    "open comments": "<!--" * 300_000,
    "open sections": "<![CDATA[" * 200_000,
    "many attributes": "<p " + "a=b " * 300_000 + ">x",
    "angles": "<" * 1_000_000,
    "entities": "&lt" * 500_000,
    "blanks": "<p>" + " " * 3_000_000 + "x",
    "links": "<a href=x>" * 100_000,
    "images": "<img src=x>" * 200_000,
    "videos": "<video src=x></video>" * 100_000,
    "quotes": "<blockquote cite=x>a</blockquote>" * 100_000,
    "wide cell": "<table><tr><td colspan=1000000000>x</td></tr></table>",
}


@pytest.mark.req("BLT-92")
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_page_ends_in_bounded_time_and_size_in_a_thread(name: str) -> None:
    with anyio.fail_after(30):
        text = await anyio.to_thread.run_sync(lambda: to_markdown(HOSTILE[name], base_url=LONG))
    assert len(text) <= len(HOSTILE[name]) + 2 * ADDRESSES_MAX_CHARS


@pytest.mark.req("BLT-92")
@pytest.mark.parametrize(
    "html",
    [
        "<scr<script>ipt>x</scr</script>ipt><SCRIPT\n>evil</SCRIPT >",
        "<script>evil</script\t><script>evil",
        "<p>x<style>evil",
        "<p>x<script>evil</script",
        "<style>evil</style><template>evil</template><svg><script>evil</script></svg>",
        "<a href='vbscript:evil'>x</a><a href='\x01javascript:evil'>x</a><a href='JAVA\tSCRIPT:evil'>x</a>",
        "<img src=x onerror=evil><body onload=evil><iframe src='javascript:evil'></iframe>",
        "<img src='data:image/svg+xml,<svg onload=evil>' alt=x><object data='javascript:evil'></object>",
        "<math><mtext><script>evil</script></mtext></math><noscript>evil</noscript><p hidden>evil</p>",
    ],
)
def test_no_script_comes_through(html: str) -> None:
    assert "evil" not in to_markdown(html, base_url=BASE)


def test_links_are_absolute_and_mail_stays() -> None:
    html = (
        "<a href=/x>a</a> <a href='c?d'>b</a> <a href='mailto:a@b.c'>m</a> <a href='//e.com/'>e</a> "
        "<img src=i.png alt=pic>"
    )
    assert to_markdown(html, base_url=BASE) == (
        "[a](https://example.com/x) [b](https://example.com/a/c?d) [m](mailto:a@b.c) "
        "[e](https://e.com/) ![pic](https://example.com/a/i.png)"
    )


def test_by_a_very_long_base_links_stay_as_they_are() -> None:
    assert to_markdown("<a href=/x>a</a>", base_url=LONG + "longer") == "[a](/x)"
    assert to_markdown("<a href=x>a</a>", base_url=f"{BASE}?{'q' * 9000}") == "[a](https://example.com/a/x)"


def test_what_is_nested_too_deeply_is_told() -> None:
    assert to_markdown("<p>a</p>" + "<div>" * 2000 + "b", base_url=BASE) == f"a\n\n{DEEP_NOTE}"
    assert to_markdown("<div>" * 2000 + "b", base_url=BASE) == DEEP_NOTE


def test_text_that_is_no_unicode_is_repaired() -> None:
    assert to_markdown("<p>a\ud800b</p>", base_url=BASE) == "a?b"
    assert to_markdown("\0<\0p\0>\0a\0<\0/\0p\0>" + "\0" * 5000, base_url=BASE) == "a"
