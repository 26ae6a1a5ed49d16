"""HTML as Markdown: what a reader would see, without scripts, styles and what is hidden."""

import re
from typing import Final

from html_to_markdown import ConversionError, ConversionOptions, convert

_WARNED_DEPTH: Final = "depth_limit_exceeded"
_BLANKS = re.compile(r"[\x00-\x20\x7f]+")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
_FOLLOWED: Final = ("http:", "https:", "mailto:")
_SCHEME_CHARS: Final = 10_000
# A script or style that is never closed reaches to the end of the page.
_CLOSED: Final = "</style></script>"
ADDRESSES_MAX_CHARS: Final = 2 * 1024 * 1024
# Joining takes time by the length of the base, for each of half a million links.
BASE_MAX_CHARS: Final = 300
DEEP_NOTE: Final = "[parts that are nested too deeply were left out]"


class NoMarkdownError(Exception):
    """The converter gave up."""


class _Addresses:
    """Decides what is written of links and images.

    Of a link that leads to a script or carries its target in itself only the text is left. So it is for all when
    their addresses add up to too much: a short page may name a long base a million times.
    """

    def __init__(self) -> None:
        self._room = ADDRESSES_MAX_CHARS

    def visit_link(self, _ctx: object, href: str, text: str, _title: str) -> object:
        """Say what to write for one link."""
        return "continue" if self._fits(href) else {"type": "custom", "output": text}

    def visit_image(self, _ctx: object, src: str, alt: str, _title: str) -> object:
        """Say what to write for one image."""
        return "continue" if self._fits(src) else {"type": "custom", "output": alt}

    def _fits(self, address: str) -> bool:
        self._room -= len(address)
        scheme = _SCHEME.match(_BLANKS.sub("", address[:_SCHEME_CHARS]).lower())
        return self._room >= 0 and (scheme is None or scheme[0] in _FOLLOWED)


def to_markdown(html: str, *, base_url: str) -> str:
    """Return the page as Markdown, links absolute by `base_url` if it is no longer than usual; "" without text.

    It takes time in proportion to the page and releases the interpreter's lock: call it in a thread.

    Raises:
        NoMarkdownError: It cannot be converted.
    """
    options = ConversionOptions(
        extract_metadata=False,
        inline_data_media="drop_element",
        include_blockquote_citations=False,
        exclude_selectors=["script", "style", "template", "svg", "iframe", "object", "embed", "video", "audio"],
        base_url=_base(base_url),
    )
    page = html.replace("\0", "").encode("utf-8", "replace").decode("utf-8") + _CLOSED
    try:
        found = convert(page, options, _Addresses())  # type: ignore[arg-type]  # it calls what the object has
    except ConversionError as exc:
        raise NoMarkdownError from exc
    text = (found.content or "").strip()
    if any(str(warning.kind) == _WARNED_DEPTH for warning in found.warnings):
        text = f"{text}\n\n{DEEP_NOTE}".lstrip()
    return text


def _base(url: str) -> str | None:
    base = url.partition("?")[0]
    return base if len(base) <= BASE_MAX_CHARS else None
