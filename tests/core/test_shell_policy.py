import pytest

from hilt.core.shell import analyse
from hilt.core.shell_policy import check_policy, policy_asks


@pytest.mark.req("PRM-66")
def test_unrestricted_refuses_nothing() -> None:
    for line in ("ls", "eval x", "'"):
        assert check_policy(analyse(line), "unrestricted", ["ls"]) is None
        assert not policy_asks(analyse(line), "unrestricted", ["ls"])


@pytest.mark.req("PRM-66", "PRM-67")
def test_an_allow_list_takes_only_segments_that_match() -> None:
    patterns = ["git *", "ls", "echo * > b"]
    for line in ("git status", "git status && ls", "ls > /dev/null", "echo a > b"):
        assert check_policy(analyse(line), "allow_list", patterns) is None
    assert check_policy(analyse("git status; rm x"), "allow_list", patterns) == (
        "Security policy violation: 'rm x' is not on the list of allowed commands"
    )
    for line in ("git", "ls -l", "A=1 ls", "/bin/ls", "sudo ls", "git log > x", "git $(rm x)", "echo a > c"):
        assert (check_policy(analyse(line), "allow_list", patterns) or "").startswith("Security policy violation: ")


@pytest.mark.req("PRM-67")
def test_an_empty_allow_list_admits_nothing() -> None:
    for line in ("ls", "", "true"):
        assert check_policy(analyse(line), "allow_list", []) is not None


@pytest.mark.req("PRM-68")
def test_a_deny_list_refuses_what_matches_in_any_segment() -> None:
    patterns = ["rm *", "curl:*"]
    for line in ("ls", "echo rm x", "rm", "git log"):
        assert check_policy(analyse(line), "deny_list", patterns) is None
    for line in ("rm x", "ls; rm x", "sudo rm x", "echo $(curl h)", "sh -c 'rm x'", "eval rm x", "/bin/rm x"):
        refused = check_policy(analyse(line), "deny_list", patterns) or ""
        assert refused.startswith("Security policy violation: ")
        assert refused.endswith(" is on the list of denied commands")
    assert len(check_policy(analyse("rm " + "x" * 3000), "deny_list", patterns) or "") < 300


@pytest.mark.req("PRM-68")
def test_an_empty_deny_list_admits_everything() -> None:
    for line in ("rm x", "eval x"):
        assert check_policy(analyse(line), "deny_list", []) is None


@pytest.mark.req("PRM-69")
def test_what_cannot_be_analysed_is_refused_by_an_allow_list_and_asked_by_a_deny_list() -> None:
    for line in ("eval ls", "'", "$x"):
        assert "cannot be analysed" in (check_policy(analyse(line), "allow_list", ["*"]) or "")
        assert check_policy(analyse(line), "deny_list", ["rm *"]) is None
        assert policy_asks(analyse(line), "deny_list", ["rm *"])
    assert not policy_asks(analyse("ls a"), "deny_list", ["rm *"])
    assert not policy_asks(analyse("ls $x"), "deny_list", ["rm *"])
    assert policy_asks(analyse("rm$(x)"), "deny_list", ["rm *"])
    assert policy_asks(analyse("ls $x"), "deny_list", ["ls /etc*"])
    assert not policy_asks(analyse("eval ls"), "allow_list", ["*"])
