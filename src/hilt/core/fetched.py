"""A document from the web: what kind it is, and its text."""

import codecs
import re
from dataclasses import dataclass
from typing import Final, Literal

DocumentKind = Literal["html", "json", "text", "other"]

SHOWN_TYPE_MAX_CHARS: Final = 80
_SNIFFED_BYTES: Final = 1024
_TEXT_TYPES: Final = frozenset(
    {
        *("application/xml", "application/rss+xml", "application/atom+xml", "application/csv", "application/yaml"),
        *("application/x-yaml", "application/toml", "application/javascript", "application/ecmascript"),
        *("application/x-ndjson", "application/jsonl", "application/sql", "application/graphql"),
        *("application/x-sh", "image/svg+xml"),
    }
)
_HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_JSON_TYPES: Final = frozenset({"application/json", "text/json"})
# Encodings of the web. Others that Python knows unpack archives, run in squared time, or are no encodings of text.
_ENCODINGS: Final = frozenset(
    {
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "koi8-r", "koi8-u", "gbk", "gb18030", "gb2312"),
        *("big5", "euc_jp", "shift_jis", "iso2022_jp", "euc_kr", "tis-620", "mac-roman", "cp866", "cp874", "cp932"),
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{number}" for number in range(1, 17)),
    }
)
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s{0,8}=\s{0,8}[\"']?\s{0,8}([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE
)
_CHARSET = re.compile(r"(?:^|;)\s*charset\s*=\s*\"?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a fetch gave.

    `url` is the final one; `content_type` the header as it came, "" without one; `body` is decompressed.
    """

    url: str
    status: int
    content_type: str
    body: bytes

    @property
    def media_type(self) -> str:
        """Type and subtype in lower case without parameters, "" where the server gave none that can be read."""
        essence = self.content_type.partition(";")[0].strip().lower()
        return essence if essence.isascii() and essence.isprintable() and "/" in essence else ""

    @property
    def kind(self) -> DocumentKind:
        """What the document is by its type; one without a type counts as text."""
        essence = self.media_type
        if essence in _HTML_TYPES:
            return "html"
        if essence in _JSON_TYPES or (essence.startswith("application/") and essence.endswith("+json")):
            return "json"
        if not essence or essence.startswith("text/") or essence in _TEXT_TYPES or essence.endswith("+xml"):
            return "text"
        return "other"

    @property
    def described(self) -> str:
        """Final URL, type and size on one line."""
        essence = self.media_type[:SHOWN_TYPE_MAX_CHARS] or "type unknown"
        return f"{self.url}: {essence}, {len(self.body)} bytes"

    def text(self) -> str:
        """Return the body as text: by its byte order mark, the header, the page's own word, else as UTF-8.

        What does not fit the encoding is replaced.
        """
        return self.body.decode(self._encoding(), "replace")

    def _encoding(self) -> str:
        for mark, encoding in _MARKS:
            if self.body.startswith(mark):
                return encoding
        named = _CHARSET.search(self.content_type)
        if named is not None:
            return known_encoding(named[1])
        inside = _META_CHARSET.search(self.body[:_SNIFFED_BYTES]) if self.kind == "html" else None
        return known_encoding(inside[1].decode("ascii")) if inside is not None else "utf-8"


def known_encoding(label: str) -> str:
    """Return Python's name for a label of the web, "utf-8" for one that is unknown or no encoding of text."""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return "utf-8"
    if name in ("iso8859-1", "ascii"):
        return "cp1252"  # what browsers take these labels for; it holds both
    return name if name in _ENCODINGS else "utf-8"
