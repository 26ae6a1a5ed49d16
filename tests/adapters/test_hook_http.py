"""HTTP hooks: statuses, redirects, sizes, broken connections."""

from collections.abc import Iterator

import anyio
import pytest

from hilt.adapters.hook_http import BODY_MAX_BYTES, HttpHook
from hilt.core.errors import HookFailedError
from hilt.core.hook import NO_ANSWER, HookAnswer, HookEvent, HookInput
from tests.contracts.hook_endpoint import Endpoint, endpoint

PRE = HookEvent.PRE_TOOL_USE


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint() as state:
        yield state


async def run(url: str, **options: dict[str, str]) -> HookAnswer:
    with anyio.fail_after(20):
        hook = HttpHook(name="h", event=PRE, url=url, timeout_s=15, headers=options.get("headers", {}))
        return await hook.run(HookInput(event=PRE, session_id="s"))


@pytest.mark.req("HOK-14")
@pytest.mark.parametrize("status", [200, 201, 299])
async def test_any_2xx_with_json_is_an_answer(server: Endpoint, status: int) -> None:
    server.status = status
    assert await run(server.url, headers={"authorization": "Bearer x"}) == NO_ANSWER
    assert server.got_headers[0]["authorization"] == "Bearer x"
    assert server.got_headers[0]["content-type"] == "application/json"


@pytest.mark.req("HOK-14")
@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 429, 500])
async def test_any_other_status_has_failed_and_no_redirect_is_followed(server: Endpoint, status: int) -> None:
    server.status = status
    server.headers = {"location": server.url}
    with pytest.raises(HookFailedError, match=f"status {status}"):
        await run(server.url)
    assert len(server.got) == 1


@pytest.mark.req("HOK-14")
async def test_a_body_over_a_mebibyte_has_failed(server: Endpoint) -> None:
    server.body = b'{"reason": "' + b"x" * BODY_MAX_BYTES + b'"}'
    with pytest.raises(HookFailedError, match="over 1048576 bytes"):
        await run(server.url)
    server.body = b'{"reason": "' + b"x" * (BODY_MAX_BYTES - 14) + b'"}'
    assert len((await run(server.url)).reason) == BODY_MAX_BYTES - 14


@pytest.mark.req("HOK-14", "HOK-18")
@pytest.mark.parametrize("body", [b"", b"ok", b"[]", b"\xff"])
async def test_a_body_that_is_no_answer_has_failed(server: Endpoint, body: bytes) -> None:
    server.body = body
    with pytest.raises(HookFailedError):
        await run(server.url)


async def test_a_compressed_body_has_failed_unread(server: Endpoint) -> None:
    server.headers = {"content-encoding": "gzip"}
    with pytest.raises(HookFailedError, match="compressed"):
        await run(server.url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "ftp://127.0.0.1/x", "http://", "nonsense", "http://[::"])
async def test_an_endpoint_that_cannot_be_reached_has_failed(url: str) -> None:
    with pytest.raises(HookFailedError, match="the request failed"):
        await run(url)


async def test_the_environment_names_no_proxy(server: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert await run(server.url) == NO_ANSWER


async def test_neither_address_nor_headers_reach_the_log(server: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        await run(server.url + "?token=secret-value", headers={"authorization": "secret-value"})
    assert "secret-value" not in caplog.text
    assert "secret-value" not in repr(
        HttpHook(name="h", event=PRE, url="http://x", headers={"authorization": "secret-value"})
    )
