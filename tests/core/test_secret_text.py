"""What looks like a secret is masked; what does not stays."""

import pytest

from hilt.core.secret_text import masked, masked_forms

LONG = "aB3" * 14
BEGIN, END = "-----BEGIN", "PRIVATE KEY-----"


@pytest.mark.req("BLT-81")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("AKIA" + "ABCDEFGH12345678", "[masked]"),
        ("key ghp_" + LONG[:36] + " end", "key [masked] end"),
        ("xoxb-123456789012-abc", "[masked]"),
        ("sk-" + LONG, "[masked]"),
        ("glpat-" + LONG, "[masked]"),
        ("eyJ" + LONG + ".eyJ" + LONG + "." + LONG, "[masked]"),
        (f"a\n{BEGIN} RSA {END}\n{LONG}\n-----END RSA {END}\nb", "a\n[masked]\nb"),
        (f"{BEGIN} {END}\n{LONG}", "[masked]"),
        ("password: hunter2, user: ann", "password: [masked], user: ann"),
        ('{"api_key": "abc def", "n": 1}', '{"api_key": [masked], "n": 1}'),
        ("DB_PASSWORD='x y' more", "DB_PASSWORD=[masked] more"),
        ("the password is hunter2", "the password is [masked]"),
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer [masked]"),
        ("Authorization: Basic YW5uOngK", "Authorization: Basic [masked]"),
        ("postgres://ann:hunter2@db:5432/x", "postgres://ann:[masked]@db:5432/x"),
        ("token=\ud800abc", "token=[masked]"),
    ],
)
def test_what_looks_like_a_secret_is_masked_and_the_rest_stays(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "run pytest -q in the root",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "the tokenizer splits words; 12 tokens a line",
        "https://example.org/a:b@c",
        "passwords are kept in a vault",
        "the password is in the vault",
        "basic internationalization",
        "用户身份验证",
        "id 0192f0c1-7a4e-7000-8000-000000000000",
    ],
)
def test_a_text_without_one_is_the_same(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    ("name", "hidden"),
    [("db/password", True), ("token", True), ("x/api-key", True), ("my_secret", True), ("a/token-budget", False)],
)
def test_a_value_whose_name_says_that_it_is_one_is_masked_whole(name: str, hidden: bool) -> None:
    assert (masked("value", name=name) == "[masked]") is hidden


def test_of_code_only_well_known_forms_are_masked() -> None:
    assert masked_forms(f"token = lexer.next()\nkey = 'sk-{LONG}'") == "token = lexer.next()\nkey = '[masked]'"


def test_a_name_hides_nothing_where_there_is_nothing() -> None:
    assert masked("", name="password") == ""
