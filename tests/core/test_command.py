"""Command files and placeholders: one pass over the template, nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.command import CommandEntry, command_parts, fill, parse_command, valid_command_name
from hilt.core.errors import ConfigError
from hilt.core.words import OpenQuoteError


@pytest.mark.req("SKL-52")
@pytest.mark.parametrize(
    ("template", "text", "filled"),
    [
        ("<$ARGUMENTS>", "a  b", "<a  b>"),
        ("<$1|$2|$3>", 'a \'b c\' "d\\"e"', '<a|b c|d"e>'),
        ("<$1>", r"a\ b", "<a b>"),
        ("<$9|${10}|${11}>", "1 2 3 4 5 6 7 8 9 ten", "<9|ten|>"),
        ("<$2>", "one", "<>"),
        ("<$10>", "a", "<$10>\n\nARGUMENTS: a"),
        ("$ $$ $x $0 ${1} ${x} $ARGUMENTSX", "", "$ $$ $x $0 ${1} ${x} $ARGUMENTSX"),
        (r"\$1 \$ARGUMENTS \${10} \$x", "", r"$1 $ARGUMENTS ${10} \$x"),
        ("$1$1", "a", "aa"),
        ("${99999999999999}", "a", ""),
    ],
)
def test_placeholders_are_filled_and_other_dollars_stay(template: str, text: str, filled: str) -> None:
    assert fill(template, text) == filled


@pytest.mark.req("SKL-53")
@given(st.text(alphabet="$12{}AGS\\ab `(;", max_size=20).filter(lambda text: "\\" not in text))
def test_what_is_filled_in_is_not_looked_at_again(text: str) -> None:
    assert fill("<$ARGUMENTS>", text) == f"<{text}>"
    assert fill("$1 $2", f"'{text}' '$ARGUMENTS `id` $(id)'") == f"{text} $ARGUMENTS `id` $(id)"


@pytest.mark.req("SKL-54")
def test_arguments_without_a_placeholder_are_appended() -> None:
    assert fill("Do it.", "now") == "Do it.\n\nARGUMENTS: now"
    assert fill("Do it.", "") == "Do it."


@pytest.mark.req("SKL-55")
def test_an_open_quote_is_an_error_with_its_place() -> None:
    with pytest.raises(OpenQuoteError, match=r"character 3 .*: 'c"):
        fill("Do it.", "a 'c")


@pytest.mark.req("SKL-52")
def test_a_line_is_a_name_and_the_trimmed_text_behind_it() -> None:
    assert command_parts("/do  a  b ") == ("do", "a  b")
    assert command_parts("/do") == ("do", "")


def test_a_command_file_says_what_it_does_and_takes() -> None:
    file = parse_command("---\ndescription: D\nargument-hint: [file]\n---\nBody $1\n", name="do", place="c/do.md")
    assert file.entry == CommandEntry(
        name="do", kind="command", description="D", argument_hint="[file]", place="c/do.md"
    )
    assert file.template == "Body $1"
    assert parse_command("# Title\nmore", name="do", place="p").entry.description == "Title"
    assert parse_command("", name="do", place="p").entry.description == ""
    with pytest.raises(ConfigError, match="p:2: description is a text"):
        parse_command("---\ndescription:\n  a: b\n---\n", name="do", place="p")


def test_a_name_is_letters_digits_and_three_signs() -> None:
    assert all(valid_command_name(name) for name in ("a", "A-b_c.d", "9"))
    assert not any(valid_command_name(name) for name in ("", "a b", "a/b", "ä", "a\n"))
