"""`hilt comms`: this agent's key."""

import pytest

from tests.cli.kit import Hilt


@pytest.mark.req("BLT-86")
def test_the_key_is_made_once_and_printed_for_the_settings_of_peers(hilt: Hilt) -> None:
    first = hilt("comms", "key")
    assert (first.code, first.err) == (0, "")
    id_ = first.out.strip()
    hilt.machine.user(f"comms:\n  peers: [{{name: self, key: '{id_}'}}]\n")
    assert hilt("comms", "key", "--json").json == {"key": id_}
    shown = hilt("config", "show", "--changed")
    assert f'[{{"name": "self", "key": "{id_}", "address": null}}]' in shown.out
    hilt.machine.user("comms:\n  name: other\n")
    other = hilt("comms", "key").out.strip()
    assert other != id_
    kept = hilt.machine.home / ".local" / "state" / "hilt" / "comms"
    assert sorted(path.name for path in kept.iterdir()) == ["agent.key", "other.key"]


def test_a_key_that_cannot_be_used_is_an_error_with_the_remedy(hilt: Hilt) -> None:
    hilt("comms", "key")
    (hilt.machine.home / ".local" / "state" / "hilt" / "comms" / "agent.key").chmod(0o644)
    ran = hilt("comms", "key")
    assert (ran.code, ran.out) == (2, "")
    assert "others may read the agent's key; run `chmod 600` on it" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_looking_at_the_tools_makes_no_key(hilt: Hilt) -> None:
    assert hilt("tools", "list", "--tools", "comms").code == 0
    hilt.machine.user(f"comms:\n  peers: [{{name: bob, key: 'ed25519:{'A' * 43}'}}]\n")
    assert "send_message" in hilt("tools", "list", "--tools", "comms").out
    assert not (hilt.machine.home / ".local" / "state" / "hilt" / "comms").exists()
