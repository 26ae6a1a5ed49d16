from pathlib import Path

import pytest

from tests.conformance.client import arguments_of
from tests.conformance.run import EXPECTED, Case, cases, expected, node_of, scenarios

LISTING = """Server scenarios:
  - ping [2025-11-25]

Client scenarios (test against a client):
  - initialize [2025-06-18,2025-11-25]
  - tools_call [2025-06-18,2025-11-25,2026-07-28]
  - auth/basic-cimd [2025-11-25]
  - sep-2640-client-no-prefetch [extension]

Authorization server scenarios:
  - authorization-code-grant [2025-11-25]
"""


@pytest.mark.req("MCP-48")
def test_every_client_scenario_without_oauth_runs_in_each_era_that_it_has() -> None:
    listed = scenarios(LISTING)
    assert list(listed) == ["initialize", "tools_call", "sep-2640-client-no-prefetch"]
    assert cases("0.2.0-alpha.12", listed) == [
        Case("0.2.0-alpha.12", "initialize", "2025-11-25"),
        Case("0.2.0-alpha.12", "tools_call", "2025-11-25"),
        Case("0.2.0-alpha.12", "tools_call", "2026-07-28"),
        Case("0.2.0-alpha.12", "sep-2640-client-no-prefetch"),
    ]
    assert cases("0.1.16", listed) == [Case("0.1.16", name) for name in listed]


@pytest.mark.req("MCP-48")
def test_every_expected_failure_has_a_reason() -> None:
    assert EXPECTED.exists()
    assert all(reason.strip() for reason in expected().values())


def test_without_node_the_run_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="needs Node 22"):
        node_of(tmp_path)


def test_arguments_are_made_for_what_a_schema_requires() -> None:
    schema = {
        "type": "object",
        "required": ["a", "b", "c", "gone"],
        "properties": {
            "a": {"type": "integer"},
            "b": {"enum": ["x", "y"]},
            "c": {"default": 1},
            "d": {"type": "string"},
        },
    }
    assert arguments_of(schema) == {"a": 5, "b": "x", "c": 1}
    assert arguments_of({}) == {}
