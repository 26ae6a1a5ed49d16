"""What the service tells of itself: tools, skills, commands, MCP servers, version, counts, its OpenAPI document."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from hilt.app.flags import Flags
from hilt.core.version import VERSION
from tests.api.kit import served
from tests.app.house import remote, script_server
from tests.app.places import Machine
from tests.cli.kit import Hilt
from tests.flows.kit import allow, call, deny, says

SKILL = "---\nname: {name}\ndescription: {text}\n---\nDo it.\n"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine.below(tmp_path)
    for folder, text in ((".hilt/skills", "of the project"), ("../home/.config/hilt/skills", "of the user")):
        for name in ("review", "deploy") if folder.startswith(".hilt") else ("review", "plan"):
            path = machine.root / folder / name
            path.mkdir(parents=True)
            (path / "SKILL.md").write_text(SKILL.format(name=name, text=text))
    commands = machine.root / ".hilt" / "commands"
    commands.mkdir()
    (commands / "deploy.md").write_text("---\ndescription: Ship it\nargument-hint: TARGET\n---\nDeploy $1.\n")
    return machine


@pytest.mark.req("SKL-63")
async def test_commands_are_named_with_kind_description_and_what_each_shadows(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Driver:
        def names(self) -> list[str]:
            return ["plan", "ask"]

        async def expand(self, line: str) -> str | None:
            return None

    config = machine.load(Flags(trust_project=True, tools="none"))
    async with served(machine.root, config=config) as api:
        listed = (await api.get("/v1/commands"))["commands"]
        assert isinstance(listed, list)
        assert {one["name"]: one["kind"] for one in listed} == {"deploy": "command", "plan": "skill", "review": "skill"}
        by_name = {one["name"]: one for one in listed}
        assert by_name["deploy"] == {
            "name": "deploy",
            "kind": "command",
            "description": "Ship it",
            "argument_hint": "TARGET",
            "place": ".hilt/commands/deploy.md",
            "shadows": [{"kind": "skill", "place": ".hilt/skills"}],
        }
        assert (by_name["plan"]["description"], by_name["plan"]["shadows"]) == ("of the user", [])
    async with served(machine.root, config=config, skill_sources=[Driver()]) as api:
        listed = (await api.get("/v1/commands"))["commands"]
        assert isinstance(listed, list)
        by_name = {one["name"]: one for one in listed}
        assert by_name["ask"]["kind"] == "source"
        assert [shadow["kind"] for shadow in by_name["plan"]["shadows"]] == ["source"]
    async with served(machine.root) as api:
        assert await api.get("/v1/commands") == {"commands": []}


@pytest.mark.req("SKL-63")
async def test_the_route_and_the_command_line_tell_the_same(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    config = machine.load(Flags(trust_project=True, tools="none"))
    async with served(machine.root, config=config) as api:
        told = await api.get("/v1/commands")
    ran = Hilt(machine, monkeypatch).really(
        "skills", "list", "--commands", "--trust-project", "--tools", "none", "--json"
    )
    assert json.loads(ran.out) == told


@pytest.mark.req("SES-50")
async def test_tools_skills_servers_and_version_are_told(machine: Machine, tmp_path: Path) -> None:
    server = script_server(tmp_path, "near", [remote("look"), remote("send", read_only=False)])
    gone = script_server(tmp_path, "gone", [])
    config = machine.load(Flags(trust_project=True, tools="files.read"))
    broken = {"command": "/nonexistent/program", "args": ()}
    servers = [server, type(gone)(**{**{k: getattr(gone, k) for k in gone.__slots__}, **broken})]
    async with served(machine.root, config=config, mcp_servers=servers) as api:
        tools = (await api.get("/v1/tools"))["tools"]
        assert isinstance(tools, list)
        by_name = {one["name"]: one for one in tools}
        look, send, read = (by_name[name] for name in ("mcp__near__look", "mcp__near__send", "Read"))
        assert (look["server"], look["family"], look["read_only"]) == ("near", "mcp", True)
        assert (send["read_only"], send["unavailable"]) == (False, "")
        assert (read["server"], read["source"], read["read_only"]) == ("", "builtin", True)
        skills = (await api.get("/v1/skills"))["skills"]
        assert isinstance(skills, list)
        assert [(one["name"], one["tier"], one["description"]) for one in skills] == [
            ("deploy", "project", "of the project"),
            ("plan", "user", "of the user"),
            ("review", "project", "of the project"),
        ]
        listed = (await api.get("/v1/mcp/servers"))["servers"]
        assert isinstance(listed, list)
        assert [(one["name"], one["transport"], one["state"], one["tools"]) for one in listed] == [
            ("near", "stdio", "ready", 2),
            ("gone", "stdio", "failed", 0),
        ]
        assert [bool(one["cause"]) for one in listed] == [False, True]
        info = await api.get("/v1/info")
        assert info["version"] == VERSION
        assert info["categories"] == ["files.read"]
        assert info["features"] == {"calls": True, "client_mcp": True, "detach": True, "grpc": False, "watch": True}
        assert str(machine.root) not in str([tools, skills, listed, info])


async def test_counts_are_told_in_the_format_of_prometheus(tmp_path: Path) -> None:
    tools = [says("Look"), says("Send", read_only=False)]
    answers = [{"calls": [call("Look"), call("Look"), call("Send")]}, {"text": "done"}]
    async with served(tmp_path, *answers, tools=tools, rules=[*allow("Look"), *deny("Send")]) as api:
        first = (await api.ask("GET", "/metrics")).text
        assert "hilt_sessions_open 0\n" in first
        id_ = await api.create(profile="no-fs")
        await api.run(id_)
        response = await api.ask("GET", "/metrics")
        assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        lines = response.text.splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        assert values == {
            "hilt_runs_started_total": "1",
            'hilt_runs_total{stop_reason="end_turn"}': "1",
            'hilt_tool_calls_total{outcome="access_denied"}': "1",
            'hilt_tool_calls_total{outcome="ok"}': "2",
            "hilt_sessions_open": "1",
            "hilt_sessions_own_engines": "1",
            "hilt_runs_active": "0",
        }
        named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
        assert {name.partition("{")[0] for name in values} == named
        await api.ask("DELETE", f"/v1/sessions/{id_}")
        assert "hilt_sessions_own_engines 0\n" in (await api.ask("GET", "/metrics")).text


TABLE = """
POST /v1/sessions 201
GET /v1/sessions 200
GET /v1/sessions/{id} 200
DELETE /v1/sessions/{id} 204
POST /v1/sessions/{id}/delete 204
POST /v1/sessions/{id}/prompt 200
POST /v1/sessions/{id}/approve 204
POST /v1/sessions/{id}/cancel 204
PATCH /v1/sessions/{id} 200
GET /v1/sessions/{id}/tools 200
GET /v1/sessions/{id}/calls 200
GET /v1/sessions/{id}/events 200
GET /v1/sessions/{id}/watch 200
GET /v1/tools 200
GET /v1/skills 200
GET /v1/commands 200
GET /v1/mcp/servers 200
GET /v1/info 200
GET /v1/openapi.json 200
GET /healthz 200
GET /readyz 200
GET /metrics 200
"""


@pytest.mark.req("SES-62")
async def test_the_document_has_every_route_and_its_schemas_are_schemas(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        document = await api.get("/v1/openapi.json")
        assert (document["openapi"], document["security"]) == ("3.1.0", [])
        routes = {
            f"{method.upper()} {path} {next(iter(operation['responses']))}"
            for path, operations in document["paths"].items()  # type: ignore[attr-defined]  # an object, by the standard
            for method, operation in operations.items()
        }
        assert routes == set(TABLE.split("\n")) - {""}
        components = document["components"]
        assert isinstance(components, dict)
        for name, schema in components["schemas"].items():
            jsonschema_rs.validator_for({**schema, "components": components})
            assert schema.get("description"), name
        prompt = document["paths"]["/v1/sessions/{id}/prompt"]["post"]  # type: ignore[index]  # an object
        statuses = [int(status) for status in prompt["responses"]]
        assert sorted(statuses) == [200, 202, 400, 401, 403, 404, 409, 413, 429, 500, 503]


@pytest.mark.req("SES-62")
@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("CreateBody", {"title": "x", "mcpServers": [{"name": "a", "url": "https://a.example"}]}, {"titel": "x"}),
        ("CreateBody", {"limits": {"max_turns": None}}, {"limits": {"mice": 1}}),
        ("PromptBody", {"parts": [{"kind": "text", "text": "a"}]}, {"parts": [{"kind": "video"}]}),
        ("ApproveBody", {"ask_id": "a", "verdict": "deny"}, {"verdict": "deny"}),
        ("PatchBody", {"mode": "plan"}, {"mode": "yolo"}),
    ],
)
async def test_the_document_takes_and_refuses_the_bodies_that_the_routes_do(
    tmp_path: Path, kind: str, good: object, bad: object
) -> None:
    async with served(tmp_path) as api:
        document = await api.get("/v1/openapi.json")
        schema = {"$ref": f"#/components/schemas/{kind}", "components": document["components"]}
        validator = jsonschema_rs.validator_for(schema)
        assert validator.is_valid(good)
        assert not validator.is_valid(bad)


@pytest.mark.req("SES-62")
async def test_the_document_tells_of_tokens_where_they_are_needed(tmp_path: Path) -> None:
    async with served(tmp_path, tokens={"token-of-ann": "ann"}) as api:
        document = await api.get("/v1/openapi.json")
        assert document["security"] == [{"token": []}]
        paths = document["paths"]
        assert isinstance(paths, dict)
        assert paths["/healthz"]["get"]["security"] == []
        assert "401" in paths["/v1/info"]["get"]["responses"]
        assert "401" not in paths["/healthz"]["get"]["responses"]
