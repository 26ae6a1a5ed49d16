"""SKILL.md: what is read, what is refused with which rule, and how that compares with `skills-ref`."""

from pathlib import Path

import pytest
from skills_ref import read_properties, validate

from hilt.core.front_matter import FRONT_MATTER_MAX_BYTES
from hilt.core.skill import SkillRuleError
from hilt.core.skill_file import FILE_MAX_BYTES, SkillFile, parse_skill, skill_text

GOOD = "---\nname: review-sql\ndescription: Checks migrations.\n---\n\n# Steps\n\nLook.\n"


def parse(text: str, folder: str | None = "review-sql") -> SkillFile:
    return parse_skill(text.encode(), folder=folder)


def fault(text: str | bytes, folder: str | None = "review-sql") -> str:
    with pytest.raises(SkillRuleError) as caught:
        parse_skill(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, folder=folder)
    return str(caught.value)


def front(lines: str) -> str:
    return f"---\nname: review-sql\ndescription: x\n{lines}\n---\nbody"


@pytest.mark.req("SKL-01", "SKL-02")
def test_a_skill_is_front_matter_with_name_and_description_and_a_body() -> None:
    skill = parse(GOOD)
    assert (skill.meta.name, skill.meta.description) == ("review-sql", "Checks migrations.")
    assert skill.body == "# Steps\n\nLook."
    assert skill.meta.notes == ()


@pytest.mark.req("SKL-05", "SKL-06")
def test_further_keys_are_read_and_unknown_ones_are_kept_and_noted() -> None:
    skill = parse(
        front(
            "license: MIT\ncompatibility: any\nmetadata:\n  author: me\n  version: 1.0\n"
            "allowed-tools: Read, shell(git add:*) Grep\nmodel: big\nhooks:\n  - one\n  - a: 2"
        )
    )
    meta = skill.meta
    assert (meta.license, meta.compatibility, dict(meta.metadata)) == ("MIT", "any", {"author": "me", "version": "1.0"})
    assert meta.allowed_tools == ("Read", "shell(git add:*)", "Grep")
    assert dict(meta.other) == {"model": "big", "hooks": '["one", {"a": "2"}]'}
    assert meta.notes == ("keys that the format does not know: hooks, model",)
    assert parse(front("allowed-tools:\n  - Read\n  - Grep")).meta.allowed_tools == ("Read", "Grep")
    assert parse(front("other: " + "x" * 600)).meta.other["other"] == "x" * 500 + "…"
    assert dict(parse(front("metadata:")).meta.metadata) == {}


@pytest.mark.req("SKL-07")
def test_a_byte_order_mark_and_crlf_are_accepted() -> None:
    assert parse("\ufeff" + GOOD.replace("\n", "\r\n")) == parse(GOOD)
    assert parse("---\nname: review-sql\ndescription: x\n---").body == ""


@pytest.mark.req("SKL-04")
def test_a_description_may_be_folded_into_one_line() -> None:
    text = "---\nname: review-sql\ndescription: >\n  Checks\n  migrations.\n---\n"
    assert parse(text).meta.description == "Checks migrations."
    assert "one line" in fault(text.replace(">", "|"))


def test_values_are_texts_as_they_are_written() -> None:
    text = "---\nname: '007'\ndescription: 1.50\nlicense: no\n---\n"
    meta = parse(text, folder="007").meta
    assert (meta.name, meta.description, meta.license) == ("007", "1.50", "no")


def test_a_value_that_a_comment_cuts_is_noted() -> None:
    meta = parse("---\nname: review-sql\ndescription: Ranks issues like #12\n---\n").meta
    assert meta.description == "Ranks issues like"
    assert meta.notes == ("description: it ends at a ' #', which begins a comment; quotes keep the rest",)
    assert parse("---\nname: review-sql\ndescription: 'Ranks #12'\n---\n").meta.notes == ()


@pytest.mark.req("SKL-03", "SKL-08")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# no front matter", "line 1: the file does not start with front matter, which is a line '---'"),
        ("---\nname: x\n", "line 1: the front matter is not closed by a line '---'"),
        ("---\ndescription: x\n---\n", "line 1: name: it is missing"),
        ("---\nname: review-sql\n---\n", "line 1: description: it is missing"),
        ("---\nname: review-sql\ndescription:\n---\n", "line 3: description: it is empty"),
        (
            "---\nname: other\ndescription: x\n---\n",
            "line 2: name: 'other' is not the name of its directory, 'review-sql'",
        ),
        ("---\n- a\n---\n", "line 2: the front matter is no mapping of keys to values"),
        ("---\n---\n", "line 1: name: it is missing"),
        (front("license:\n  a: b"), "line 4: license: it is a text"),
        (front("metadata: flat"), "line 4: metadata: it is a mapping of keys to texts"),
        (front("metadata:\n  a:\n    b: c"), "line 5: a: it is a text"),
        (front("a: [b]"), "line 4: values in [...] or {...} are not part of the format; write one entry a line"),
        (front("a: {b: c}"), "line 4: values in [...] or {...} are not part of the format; write one entry a line"),
        (front("a: 1\na: 2"), "line 5: the key 'a' stands twice"),
        (front("a: b: c"), "line 4: not valid YAML: mapping values are not allowed here; put the value in quotes"),
        (b"---\nname: \xff\n---\n", "line 2: the file is not UTF-8 text"),
        ("---\nname: review-sql\ndescription: x\n---\nbo\0dy", "line 5: the file holds a NUL"),
        ("x" * (FILE_MAX_BYTES + 1), f"the file is over {FILE_MAX_BYTES} bytes"),
    ],
)
def test_a_bad_file_is_told_with_line_and_rule(text: str | bytes, rule: str) -> None:
    assert fault(text) == rule


@pytest.mark.req("SKL-09")
@pytest.mark.parametrize(
    "lines", ["a: !!python/object/apply:os.system ['x']", "a: !!python/name:os.system", "a: !thing x", "a: !!str x"]
)
def test_tags_are_refused_and_nothing_is_built(lines: str) -> None:
    assert "tag" in fault(front(lines))


@pytest.mark.req("SKL-09")
def test_long_front_matter_and_growing_aliases_are_refused() -> None:
    assert "over 64 KiB" in fault(front("a: " + "x" * FRONT_MATTER_MAX_BYTES))
    assert "aliases make the document grow past 64 KiB" in fault(front("a: &a " + "x" * 9000 + "\nb:" + "\n  - *a" * 8))
    assert parse(front("a: &a small\nb: *a")).meta.other == {"a": "small", "b": "small"}


def test_a_drafted_text_reads_back_as_it_was_given() -> None:
    skill = parse(skill_text("review-sql", 'Says "x": y # z', "Do.\n---\nmore"), folder="review-sql")
    assert (skill.meta.description, skill.body) == ('Says "x": y # z', "Do.\n---\nmore")


# Front matter of a skill in the folder `demo` → whether skills-ref and hilt take it (docs/skills.md).
BOTH = {
    "name: demo\ndescription: x": (True, True),
    "name: demo\ndescription: x\nlicense: MIT\ncompatibility: any\nallowed-tools: Read Grep": (True, True),
    "name: demo\ndescription: x\nmetadata:\n  a: b": (True, True),
    "name: demo\ndescription: x\nallowed-tools:\n  - Read": (True, True),
    "name: demo\ndescription: >\n  a\n  b": (True, True),
    "name: demo\ndescription: 'a: b'": (True, True),
    "name: demo\ndescription: 12": (True, True),
    "name: Demo\ndescription: x": (False, False),
    "name: other\ndescription: x": (False, False),
    "name: demo": (False, False),
    "description: x": (False, False),
    "name: demo\ndescription:": (False, False),
    f"name: demo\ndescription: {'x' * 1025}": (False, False),
    f"name: demo\ndescription: x\ncompatibility: {'x' * 501}": (False, False),
    "name: demo\ndescription: a: b": (False, False),
    "name: demo\ndescription: [x": (False, False),
    "name: demo\ndescription: x\nmetadata: {a: b}": (False, False),
    "name: demo\ndescription: x\nlicense: !!str MIT": (False, False),
    "name: demo\nname: demo\ndescription: x": (False, False),
    # hilt takes more
    "name: demo\ndescription: x\nmodel: big": (False, True),
    "name: demo\ndescription: &a x\nlicense: *a": (False, True),
    # hilt takes less
    "name: demo\ndescription: |\n  a\n  b": (True, False),
    "name: demo\ndescription: x\nmetadata: flat": (True, False),
    "name: demo\ndescription: x\nlicense:\n  a: b": (True, False),
}


@pytest.mark.parametrize("text", BOTH)
def test_what_skills_ref_takes_hilt_takes_but_for_the_differences_that_are_listed(text: str, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\n{text}\n---\nbody\n")
    try:
        parsed = parse_skill((folder / "SKILL.md").read_bytes(), folder="demo")
    except SkillRuleError:
        parsed = None
    assert (validate(folder) == [], parsed is not None) == BOTH[text]
    if parsed is not None and validate(folder) == []:
        read = read_properties(folder)
        assert (parsed.meta.name, parsed.meta.description) == (read.name, read.description)
        assert dict(parsed.meta.metadata) == (read.metadata or {})
