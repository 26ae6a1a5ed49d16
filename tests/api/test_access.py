"""Who may call: tokens and principals, hosts and origins, requests a second, and what no answer shows."""

from pathlib import Path

import pytest

from hilt.api.access import HostRule, RateLimit
from hilt.app.config import Config
from hilt.app.stores import Store
from hilt.core.mcp import ChosenServer, McpServerSpec
from tests.api.kit import TOKENS, kinds, served, until
from tests.flows.kit import allow, ask, call, says
from tests.flows.session_kit import STORES


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    return STORES[kind](tmp_path)


OF_A_SESSION = [
    ("GET", "", None),
    ("PATCH", "", {"title": "stolen"}),
    ("DELETE", "", None),
    ("POST", "/delete", None),
    ("POST", "/prompt", {"text": "go"}),
    ("POST", "/approve", {"ask_id": "a", "allow": True}),
    ("POST", "/cancel", None),
    ("GET", "/tools", None),
    ("GET", "/calls", None),
    ("GET", "/events", None),
    ("GET", "/watch", None),
]


@pytest.mark.req("SES-73")
async def test_a_session_is_not_found_by_anybody_but_its_owner_in_every_route(tmp_path: Path, store: Store) -> None:
    answers = [{"calls": [call("Send")]}, {"text": "done"}]
    options: dict[str, object] = {"tools": [says("Send", read_only=False)], "rules": ask("Send"), "store": store}
    async with served(tmp_path, *answers, tokens=TOKENS, **options) as ann:
        bob, nobody = ann.of("token-of-bob"), ann.of("wrong")
        id_ = await ann.create(title="ann's")
        path = f"/v1/sessions/{id_}"
        async with ann.stream("POST", f"{path}/prompt", {"text": "go"}) as frames:
            await until(frames, "permission.ask")
            before = await ann.get(path)
            for method, rest, body in OF_A_SESSION:
                theirs = await bob.refused(method, path + rest, body)
                assert theirs == (404, "not_found", f"no session {id_!r}"), rest
                missing = await bob.refused(method, f"/v1/sessions/none{rest}", body)
                assert missing == (404, "not_found", "no session 'none'"), rest
                assert (await nobody.refused(method, path + rest, body))[:2] == (401, "unauthenticated")
            assert await ann.get(path) == before
            assert before["state"] == "awaiting"
        own = await bob.create(title="bob's")
        for caller, mine in ((ann, id_), (bob, own)):
            listed = (await caller.get("/v1/sessions"))["sessions"]
            assert [one["id"] for one in listed] == [mine]  # type: ignore[attr-defined]  # a list, by the document
        assert (await bob.refused("POST", "/v1/sessions", {"id": id_}))[:2] == (409, "conflict")


@pytest.mark.req("SES-73")
async def test_the_owner_is_stored_with_the_session(tmp_path: Path, store: Store) -> None:
    async with served(tmp_path, tokens=TOKENS, store=store) as ann:
        id_ = await ann.create()
    async with served(tmp_path, tokens=TOKENS, store=store) as ann:
        assert (await ann.get(f"/v1/sessions/{id_}"))["id"] == id_
        assert (await ann.of("token-of-bob").refused("GET", f"/v1/sessions/{id_}"))[:2] == (404, "not_found")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer wrong", "Basic token-of-ann", "token-of-ann", "Bearer token-of-an", "Bearer é"],
)
async def test_without_a_known_token_nothing_is_told(tmp_path: Path, header: str) -> None:
    async with served(tmp_path, tokens=TOKENS) as api:
        for path in ("/v1/info", "/v1/sessions", "/v1/openapi.json", "/metrics", "/nowhere"):
            response = await api.client.get(api.url + path, headers={b"Authorization": header.encode()})
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.json()["error"]["code"] == "unauthenticated"
        assert (await api.get("/v1/info"))["version"]
        lower = await api.client.get(f"{api.url}/v1/info", headers={"Authorization": "bearer  token-of-bob"})
        assert lower.status_code == 200


@pytest.mark.req("SES-74")
async def test_health_needs_no_token_and_tells_nothing_but_the_state(tmp_path: Path) -> None:
    async with served(tmp_path, tokens=TOKENS) as api:
        nobody = api.of("")
        assert await nobody.get("/healthz") == {"state": "ok"}
        assert await nobody.get("/readyz") == {"state": "ready"}
        api.service.stopping = True
        assert (await nobody.refused("GET", "/readyz"))[2] == "the service is stopping"


@pytest.mark.req("SES-75")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost"}, 200),
        ({"Host": "LOCALHOST:9"}, 200),
        ({"Host": "127.0.0.1:9"}, 200),
        ({"Host": "[::1]:9"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:8081"}, 403),
        ({"Host": "10.0.0.1"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1.evil.example"}, 403),
        ({"Origin": "https://app.example"}, 403),
    ],
)
async def test_on_loopback_another_host_or_origin_is_forbidden(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    async with served(tmp_path) as api:
        for path in ("/v1/info", "/healthz"):
            response = await api.ask("GET", path, headers=headers)
            assert response.status_code == status
            assert "access-control-allow-origin" not in response.headers
            if status == 403:
                assert response.json()["error"]["code"] == "forbidden"
        assert (await api.ask("POST", "/v1/sessions", {}, headers=headers)).status_code in (201, status)


@pytest.mark.req("SES-75")
async def test_a_listed_origin_may_call_from_a_browser_and_no_other(tmp_path: Path) -> None:
    hosts = HostRule(origins=("https://app.example",))
    async with served(tmp_path, {"text": "x"}, tokens=TOKENS, hosts=hosts) as api:
        listed = {"Origin": "https://app.example"}
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        preflight = await api.client.options(f"{api.url}/v1/sessions", headers={**listed, **asked})
        assert (preflight.status_code, preflight.content) == (204, b"")
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        assert "PATCH" in preflight.headers["access-control-allow-methods"]
        answer = await api.ask("GET", "/v1/info", headers=listed)
        assert (answer.headers["access-control-allow-origin"], answer.headers["vary"]) == (
            "https://app.example",
            "Origin",
        )
        refused = await api.of("").ask("GET", "/v1/info", headers=listed)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://app.example")
        frames = await api.all("POST", f"/v1/sessions/{await api.create()}/prompt", {"text": "go"}, headers=listed)
        assert kinds(frames)[-1] == "result"
        for other in ("https://app.example.evil", "http://app.example", "https://app.example:8443"):
            response = await api.client.options(f"{api.url}/v1/sessions", headers={"Origin": other, **asked})
            assert response.status_code == 403
            assert "access-control-allow-origin" not in response.headers


async def test_elsewhere_any_host_may_be_named_and_pages_still_read_nothing(tmp_path: Path) -> None:
    async with served(tmp_path, tokens=TOKENS, hosts=HostRule(loopback=False)) as api:
        response = await api.ask("GET", "/v1/info", headers={"Host": "hilt.example", "Origin": "https://app.example"})
        assert response.status_code == 200
        assert "access-control-allow-origin" not in response.headers
        preflight = await api.client.options(f"{api.url}/v1/info", headers={"Origin": "https://app.example"})
        assert preflight.status_code == 401


@pytest.mark.req("SES-76")
async def test_each_principal_has_its_requests_a_second_and_the_next_waits(tmp_path: Path) -> None:
    now = 100.0
    rate = RateLimit(3, lambda: now)
    async with served(tmp_path, tokens=TOKENS, rate=rate) as ann:
        bob = ann.of("token-of-bob")
        for _ in range(3):
            await ann.get("/v1/info")
        limited = await ann.ask("GET", "/v1/info")
        assert (limited.status_code, limited.json()["error"]["code"]) == (429, "rate_limited")
        assert limited.headers["retry-after"] == "1"
        await bob.get("/v1/info")
        assert (await ann.of("").get("/healthz")) == {"state": "ok"}
        now = 100.99
        assert (await ann.refused("GET", "/v1/info"))[:2] == (429, "rate_limited")
        now = 101.0
        await ann.get("/v1/info")


@pytest.mark.parametrize(("per_second", "wait"), [(0.5, 2.0), (1, 1.0), (2.5, 0.8)])
def test_a_rate_may_be_a_part_of_one(per_second: float, wait: float) -> None:
    now = 0.0
    rate = RateLimit(per_second, lambda: now)
    made = 0
    while not rate.wait_s("ann"):
        made += 1
    assert made == max(1, int(per_second))
    assert rate.wait_s("ann") == pytest.approx(wait)
    now = wait
    assert rate.wait_s("ann") == 0
    assert RateLimit(None, lambda: now).wait_s("ann") == 0


@pytest.mark.req("SES-61")
async def test_no_answer_shows_a_token_a_header_or_an_expanded_variable(tmp_path: Path) -> None:
    secrets = ["token-of-ann", "value-of-a-header", "value-of-a-key"]
    spec = McpServerSpec(
        name="far", url="http://127.0.0.1:9/mcp?key=value-of-a-key", headers={"X-Key": "value-of-a-header"}
    )
    config = Config(
        mcp_servers=(ChosenServer(spec=spec),),
        environment={"HILT_AUTH_TOKEN": "token-of-ann", "OTHER_KEY": "value-of-a-key"},
    )
    text = " ".join(secrets)
    answers = [{"text": text, "chunk": 400, "calls": [call("Echo", {"text": text})]}, {"text": text, "chunk": 400}]
    options: dict[str, object] = {"tools": [says("Echo", text)], "rules": allow("Echo"), "config": config}
    async with served(tmp_path, *answers, tokens={"token-of-ann": "ann"}, **options) as api:
        id_ = await api.create(title=text)
        path = f"/v1/sessions/{id_}"
        seen: list[str] = []
        for stream in (("POST", f"{path}/prompt", {"text": text}), ("GET", f"{path}/events", None)):
            frames = await api.all(*stream)
            assert "tool.result" in kinds(frames)
            seen += [str(frame.data) for frame in frames]
        for route in (
            "/v1/sessions",
            path,
            f"{path}/tools",
            f"{path}/calls",
            "/v1/tools",
            "/v1/mcp/servers",
            "/v1/info",
        ):
            seen.append(str(await api.get(route)))
        seen.append(str(await api.refused("POST", f"{path}/prompt", {text: 1})))
        assert [secret for secret in secrets if any(secret in one for one in seen)] == []
        assert sum("[masked]" in one for one in seen) >= 6
