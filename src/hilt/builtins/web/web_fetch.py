"""WebFetch: one document of the web, as text."""

from dataclasses import dataclass
from typing import Annotated, Final

import anyio.to_thread
from pydantic import Field

from hilt.builtins.web.frame import framed
from hilt.builtins.web.markdown import NoMarkdownError, to_markdown
from hilt.core.address import URL_MAX_BYTES
from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.fetched import Fetched
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.core.url_subjects import url_subjects
from hilt.ports.fetch import Fetcher, FetchFailedError, FetchRequest
from hilt.ports.tool import Environment

REDIRECTS_MAX: Final = 5
SCHEMES: Final = ("http", "https")
ACCEPT: Final = (
    "text/html, application/xhtml+xml, text/markdown, text/plain, text/csv, application/json, "
    "application/xml;q=0.9, application/rss+xml;q=0.9, application/atom+xml;q=0.9, */*;q=0.1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebFetchArgs:
    """Arguments of `WebFetch`."""

    url: Annotated[
        str, Field(min_length=1, max_length=URL_MAX_BYTES, description="Absolute http or https URL of a public host.")
    ]
    raw: Annotated[bool, Field(description="Return HTML as it is instead of Markdown.")] = False


class WebFetch:
    """Fetches a document and returns its text, HTML as Markdown."""

    _args = Args(WebFetchArgs)
    read_only = True
    spec = ToolSpec(
        name="WebFetch",
        description=(
            "Fetch one document of the web and return its text; HTML becomes Markdown. "
            "Use it for an address that you know; to find pages use WebSearch where it is offered. "
            "It sends no cookie and no credential, so pages behind a login cannot be read, and it runs no scripts. "
            "Limits: public hosts, text types, 5 redirects, 5 MiB, 30 seconds."
        ),
        schema=_args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show URL and host to patterns."""
        return url_subjects("url", self._args.decode(call).url)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Fetch and convert."""
        args = self._args.decode(call)
        document = await _fetched(args.url, env)
        if document.status >= 400:
            raise ToolError.execution_failed(f"{document.url} answered with status {document.status}")
        if document.kind == "other":
            raise ToolError.execution_failed(
                f"{document.described}: this type is not read; WebFetch reads text, HTML, Markdown, CSV, JSON, XML"
            )
        if document.kind == "html" and not args.raw:
            text = await _markdown(document)
        else:
            text = document.text() or "(the document is empty)"
        return ToolResult.text(call.id, framed(document.described, text))


async def _fetched(url: str, env: Environment) -> Fetched:
    try:
        fetcher = env.service(Fetcher)  # type: ignore[type-abstract]  # named by its Protocol
    except LookupError:
        raise ToolError.unavailable("this session fetches nothing") from None
    try:
        return await fetcher.fetch(FetchRequest(url=url, schemes=SCHEMES, redirects_max=REDIRECTS_MAX, accept=ACCEPT))
    except FetchFailedError as exc:
        raise ToolError.execution_failed(f"the URL could not be fetched: {exc.text}") from None


async def _markdown(document: Fetched) -> str:
    def convert() -> str:
        return to_markdown(document.text(), base_url=document.url)

    try:
        text = await anyio.to_thread.run_sync(convert, abandon_on_cancel=True)
    except NoMarkdownError:
        raise ToolError.execution_failed("the page could not be made Markdown; raw=true returns its HTML") from None
    return text or "(the page has no text that is shown without scripts; raw=true returns its HTML)"
