"""Rules of settings files: read anew each time, and kept without touching anything else in the file."""

import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from hilt.adapters.permission_file import PermissionFiles, RuleFile, add_allow, rules_of
from hilt.adapters.permission_file.edit import with_allow
from hilt.core.errors import ConfigError
from hilt.core.permission import Effect, PermissionRule, Scope
from hilt.core.rule_text import format_rule, parse_rule
from hilt.core.yaml_document import parse_yaml

LOCAL = ".hilt/settings.local.yaml"
SHARED = ".hilt/settings.yaml"


def _files(root: Path, *, trusted: bool = True, flags: tuple[PermissionRule, ...] = ()) -> PermissionFiles:
    (root / ".hilt").mkdir(exist_ok=True)
    scopes = {SHARED: Scope.SHARED_PROJECT, LOCAL: Scope.LOCAL_PROJECT, "user.yaml": Scope.USER}
    files = [RuleFile(path=str(root / name), shown=name, scope=scope) for name, scope in scopes.items()]
    return PermissionFiles(files, flags, trusted=trusted)


def _allow(text: str) -> PermissionRule:
    return parse_rule(text, effect=Effect.ALLOW, scope=Scope.LOCAL_PROJECT)


@pytest.mark.req("PRM-35", "PRM-24")
async def test_rules_come_strongest_scope_first_with_file_and_line(tmp_path: Path) -> None:
    source = _files(tmp_path, flags=(parse_rule("F", effect=Effect.ASK, source="--ask"),))
    (tmp_path / SHARED).write_text("permissions:\n  allow: [A]\n  deny:\n    - B\n")
    (tmp_path / LOCAL).write_text("model: x\npermissions:\n  ask: ['C(x, y=1)']\n")
    (tmp_path / "user.yaml").write_text("permissions: {deny: [D], allow: }\n")
    rules = await source.load()
    assert [(rule.effect, format_rule(rule), rule.scope, rule.source, rule.line) for rule in rules] == [
        (Effect.ASK, "F", Scope.CLI, "--ask", 0),
        (Effect.ASK, "C(x, y=1)", Scope.LOCAL_PROJECT, LOCAL, 3),
        (Effect.ALLOW, "A", Scope.SHARED_PROJECT, SHARED, 2),
        (Effect.DENY, "B", Scope.SHARED_PROJECT, SHARED, 4),
        (Effect.DENY, "D", Scope.USER, "user.yaml", 1),
    ]


@pytest.mark.req("PRM-31")
async def test_without_trust_a_project_gives_denies_and_asks_alone(tmp_path: Path) -> None:
    source = _files(tmp_path, trusted=False)
    (tmp_path / SHARED).write_text("permissions: {allow: [A], ask: [B], deny: [C]}")
    (tmp_path / LOCAL).write_text("permissions: {allow: [D]}")
    (tmp_path / "user.yaml").write_text("permissions: {allow: [E]}")
    assert [rule.tool for rule in await source.load()] == ["B", "C", "E"]
    assert [rule.tool for rule in source.withheld()] == ["D", "A"]


@pytest.mark.req("PRM-35")
async def test_each_load_reads_the_files_as_they_are_then(tmp_path: Path) -> None:
    source = _files(tmp_path)
    assert await source.load() == []
    (tmp_path / SHARED).write_text("permissions: {deny: [A]}")
    assert [rule.tool for rule in await source.load()] == ["A"]
    (tmp_path / SHARED).write_text("permissions:\n  deny: [A, 'B(']")
    with pytest.raises(ConfigError, match=r"^\.hilt/settings\.yaml:2: column 15: "):
        await source.load()


@pytest.mark.req("PRM-07", "PRM-35")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("permissions: [a]", "settings.yaml:1: permissions: expected a table"),
        ("[a]", "settings.yaml:1: expected a table"),
        ("permissions:\n  denny: [a]", "settings.yaml:2: permissions.denny: unknown key"),
        ("permissions:\n  deny: a", "settings.yaml:2: permissions.deny: expected a list of rules"),
        ("permissions:\n  deny:\n    - 3", "settings.yaml:3: permissions.deny: expected a rule as text"),
        ("permissions: {deny: [a", "settings.yaml:1: not valid YAML"),
    ],
)
async def test_a_broken_file_fails_the_load_and_names_file_line_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    source = _files(tmp_path)
    (tmp_path / SHARED).write_text(text)
    with pytest.raises(ConfigError) as caught:
        await source.load()
    assert str(caught.value).startswith(f".hilt/{message}")


WRITTEN = {
    "": 'permissions:\n  allow:\n    - "Read(x)"\n',
    "# only a note": '# only a note\npermissions:\n  allow:\n    - "Read(x)"\n',
    "model: a  # why\n": 'model: a  # why\npermissions:\n  allow:\n    - "Read(x)"\n',
    "model: a": 'model: a\npermissions:\n  allow:\n    - "Read(x)"\n',
    "permissions:  # mine\nmodel: a\n": 'permissions:  # mine\n  allow:\n    - "Read(x)"\nmodel: a\n',
    "permissions:\n    # first\n    deny: [B]\n# end\n": (
        'permissions:\n    allow:\n      - "Read(x)"\n    # first\n    deny: [B]\n# end\n'
    ),
    "permissions:\n  allow:  # none yet\n  deny: [B]\n": (
        'permissions:\n  allow:  # none yet\n    - "Read(x)"\n  deny: [B]\n'
    ),
    "permissions:\n  allow:\n  - A   # one\n  # two\n  - 'B'\n\n  # three\n  deny:\n      - C\n": (
        "permissions:\n  allow:\n  - A   # one\n  # two\n  - 'B'\n  - \"Read(x)\"\n\n  # three\n  deny:\n      - C\n"
    ),
    "permissions: \n  allow: [A,\n    'B'  # b\n  ]\n": (
        "permissions: \n  allow: [A,\n    'B', \"Read(x)\"  # b\n  ]\n"
    ),
    "permissions:\n  allow: []\n": 'permissions:\n  allow: ["Read(x)"]\n',
    "permissions:\r\n  allow:\r\n    - A\r\n": 'permissions:\r\n  allow:\r\n    - A\r\n    - "Read(x)"\r\n',
    "\ufeffpermissions:\n  allow:\n    - A": '\ufeffpermissions:\n  allow:\n    - A\n    - "Read(x)"\n',
    "permissions: {allow: [A], deny: [B]}  # all\n": ('permissions: {allow: [A, "Read(x)"], deny: [B]} # all\n'),
    "permissions: {deny: [B]}\n": 'permissions: {deny: [B], allow: ["Read(x)"]}\n',
    "permissions:\n  allow: ~\n": 'permissions:\n  allow:\n  - "Read(x)"\n',
    "{model: a}\n": "",
    "permissions:\n  allow: &a\n  -   A\n": 'permissions:\n  allow: &a\n  -   A\n  - "Read(x)"\n',
    "permissions: &p\n  deny: [A]\n": 'permissions: &p\n  allow:\n    - "Read(x)"\n  deny: [A]\n',
}


@pytest.mark.req("PRM-52")
@pytest.mark.parametrize("before", WRITTEN, ids=range(len(WRITTEN)))
async def test_a_kept_rule_is_added_and_the_rest_stays_as_it_was_written(tmp_path: Path, before: str) -> None:
    source = _files(tmp_path)
    path = tmp_path / LOCAL
    path.write_bytes(before.encode())
    await source.remember(_allow("Read(x)"))
    if WRITTEN[before]:
        assert path.read_bytes().decode() == WRITTEN[before]
    kept = [rule for rule in await source.load() if format_rule(rule) == "Read(x)"]
    assert [(rule.effect, rule.scope) for rule in kept] == [(Effect.ALLOW, Scope.LOCAL_PROJECT)]


TOOL = st.text(st.characters(categories=("L", "N", "P", "S", "Co", "Cn"), exclude_characters="\\("), min_size=1)
BODY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\\"))


@pytest.mark.req("PRM-52", "PRM-08")
@given(tool=TOOL, body=BODY, before=st.sampled_from(sorted(WRITTEN)))
def test_any_rule_that_is_kept_loads_as_the_same_rule(tool: str, body: str, before: str) -> None:
    text = f"{tool}({body})"
    once = with_allow(before, text, shown=LOCAL)
    twice = with_allow(once, "Second", shown=LOCAL)
    rules = rules_of(parse_yaml(twice, source=LOCAL), scope=Scope.LOCAL_PROJECT, source=LOCAL)
    allows = [format_rule(rule) for rule in rules if rule.effect is Effect.ALLOW]
    assert allows[-2:] == [text, "Second"]


@pytest.mark.req("PRM-52")
async def test_a_rule_that_is_kept_already_is_not_added_again(tmp_path: Path) -> None:
    source = _files(tmp_path)
    await source.remember(_allow("Read(x)"))
    before = (tmp_path / LOCAL).read_text()
    await source.remember(_allow("Read(x)"))
    assert (tmp_path / LOCAL).read_text() == before


@pytest.mark.req("PRM-52")
async def test_the_folder_and_the_file_are_made_and_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    path = tmp_path / "new" / ".hilt" / "x.yaml"
    add_allow(str(path), "A", shown="x.yaml")
    path.chmod(0o640)
    add_allow(str(path), "B", shown="x.yaml")
    assert path.stat().st_mode & 0o777 == 0o640
    assert [name.name for name in path.parent.iterdir() if "lock" not in name.name] == ["x.yaml"]


async def test_a_broken_file_is_not_touched(tmp_path: Path) -> None:
    source = _files(tmp_path)
    (tmp_path / LOCAL).write_text("permissions: {allow: [A")
    with pytest.raises(ConfigError, match=r"settings\.local\.yaml:1: not valid YAML"):
        await source.remember(_allow("B"))
    assert (tmp_path / LOCAL).read_text() == "permissions: {allow: [A"


def test_a_rule_that_no_text_can_hold_is_refused_and_nothing_written() -> None:
    with pytest.raises(ConfigError, match="write it by hand"):
        with_allow("", "Read(\ud800)", shown=LOCAL)


async def test_without_a_workspace_nothing_can_be_kept() -> None:
    with pytest.raises(ConfigError, match="no workspace"):
        await PermissionFiles(()).remember(_allow("A"))


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        add_allow(str(tmp_path / "file" / "x.yaml"), "A", shown="x.yaml")


ADD_MANY = """
import sys
from hilt.adapters.permission_file import add_allow
for number in range(10):
    add_allow(sys.argv[1], sys.argv[2] + str(number), shown="x.yaml")
"""


@pytest.mark.req("PRM-52")
def test_of_additions_at_once_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    workers = [subprocess.Popen([sys.executable, "-c", ADD_MANY, str(path), name]) for name in ("a", "b", "c")]
    assert [worker.wait(50) for worker in workers] == [0, 0, 0]
    text = path.read_text()
    assert all(f'"{name}{number}"' in text for name in ("a", "b", "c") for number in range(10))


def test_a_file_that_another_process_changes_for_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilt.adapters.permission_file.edit.LOCK_WAIT_S", 0.05)
    path = tmp_path / "x.yaml"
    with (
        FileLock(tmp_path / ".x.yaml.lock"),
        pytest.raises(ConfigError, match=r"^x\.yaml: is being changed by another"),
    ):
        add_allow(str(path), "A", shown="x.yaml")
    assert not path.exists()


def test_a_file_that_cannot_be_replaced_stays_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("model: a\n")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hilt.adapters._files.os.replace", refuse)
    with pytest.raises(ConfigError, match="cannot be written: No space left"):
        add_allow(str(path), "A", shown="x.yaml")
    assert path.read_text() == "model: a\n"
    assert sorted(one.name for one in tmp_path.iterdir()) == [".x.yaml.lock", "x.yaml"]
