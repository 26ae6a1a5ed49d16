"""What a fetched document is, and its text in any encoding of the web."""

import pytest

from hilt.core.fetched import Fetched, known_encoding


def document(body: bytes = b"", content_type: str = "") -> Fetched:
    return Fetched(url="https://example.com/", status=200, content_type=content_type, body=body)


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/html; charset=utf-8", "html"),
        ("application/xhtml+xml", "html"),
        ("Application/JSON", "json"),
        ("application/ld+json", "json"),
        ("text/csv", "text"),
        ("text/markdown", "text"),
        ("application/rss+xml", "text"),
        ("image/svg+xml", "text"),
        ("", "text"),
        ("nonsense", "text"),
        ("a\u00e9/b", "text"),
        ("image/png", "other"),
        ("application/octet-stream", "other"),
        ("model/x+json", "other"),
    ],
)
def test_the_type_decides_the_kind(content_type: str, kind: str) -> None:
    assert document(content_type=content_type).kind == kind


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("ü".encode(), "", "ü"),
        (b"\xfc", "text/plain; charset=ISO-8859-1", "ü"),
        (b"\x80", "text/plain; charset=latin1", "€"),
        (b"\x80", "text/plain;charset='x';charset=\"windows-1252\"", "€"),
        (b"\xef\xbb\xbf\xc3\xbc", "text/plain; charset=latin1", "ü"),
        ("ü".encode("utf-16"), "", "ü"),
        ("日".encode("shift_jis"), "text/plain; charset=Shift_JIS", "日"),
        (b"<meta charset=windows-1251>\xff", "text/html", "<meta charset=windows-1251>я"),
        (b"<meta charset=windows-1251>\xff", "text/plain", "<meta charset=windows-1251>\ufffd"),
        (b"<meta http-equiv=x content='text/html; charset=koi8-r'>\xd1", "text/html", None),
        (b"\xff\x00", "text/plain; charset=nothing", "\ufffd\x00"),
    ],
)
def test_the_text_is_read_in_the_encoding_that_is_given(body: bytes, content_type: str, text: str | None) -> None:
    found = document(body, content_type).text()
    assert found == text if text is not None else found.endswith("я")


@pytest.mark.parametrize(
    "label", ["zlib", "hex", "rot13", "punycode", "idna", "unicode_escape", "utf-7", "base64", "mbcs"]
)
def test_encodings_that_are_none_of_the_web_are_not_used(label: str) -> None:
    assert known_encoding(label) == "utf-8"


def test_a_document_is_described_on_one_line() -> None:
    assert document(b"abc", f"text/{'x' * 200}").described == f"https://example.com/: text/{'x' * 75}, 3 bytes"
