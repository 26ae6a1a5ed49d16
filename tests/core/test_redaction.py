"""Masking of known secrets and their encodings."""

import base64
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.redaction import MASK, SECRET_MIN_CHARS, Redactor

SECRETS = ("sk-live-0123456789", 'p"w/\\ é\n+=x', "-----BEGIN KEY-----\nabc\n-----END KEY-----", "ünïcödé")


def test_a_redactor_without_secrets_is_false_and_gives_back_the_same_object() -> None:
    empty = Redactor()
    value = {"a": ["b"]}
    assert not empty
    assert not empty.holds("anything")
    assert empty.redact("anything") == "anything"
    assert empty.redact_value(value) is value


def test_values_too_short_to_be_told_apart_are_not_masked() -> None:
    assert not Redactor(["", "x" * (SECRET_MIN_CHARS - 1)])
    assert Redactor(["x" * SECRET_MIN_CHARS]).redact("a xxxxxx b") == f"a {MASK} b"


@pytest.mark.req("SES-33")
@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "encode",
    [
        str,
        quote,
        lambda text: quote(text, safe=""),
        quote_plus,
        lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
        lambda text: text.encode().hex(),
        lambda text: text.encode().hex().upper(),
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: json.dumps(json.dumps({"token": text})),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
        lambda text: json.dumps({"auth": base64.b64encode(text.encode()).decode()}),
    ],
)
def test_a_secret_is_masked_plain_and_encoded(secret: str, encode: object) -> None:
    assert callable(encode)
    masked = Redactor(SECRETS).redact(f"before {encode(secret)} after")
    assert MASK in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    assert len(masked) <= len('before "{\\"token\\": \\"}\\"" after') + len(MASK) * 2 + 10


@pytest.mark.req("SES-33")
@given(
    secret=st.text(st.characters(codec="utf-8"), min_size=6, max_size=40).filter(lambda s: len(s.strip()) > 5),
    before=st.binary(max_size=4),
    after=st.binary(max_size=4),
)
def test_base64_of_more_than_the_secret_shows_at_most_its_edges(secret: str, before: bytes, after: bytes) -> None:
    raw = secret.encode()
    for coder in (base64.b64encode, base64.urlsafe_b64encode):
        text = coder(before + raw + after).decode()
        masked = Redactor([secret]).redact(text)
        assert MASK in masked
        assert len(masked) - len(MASK) <= len(text) - len(raw) * 8 // 6 + 2


def test_overlapping_secrets_leave_nothing_between_their_masks() -> None:
    redactor = Redactor(["abcdefgh", "efghijkl", "cdefgh"])
    assert redactor.redact("--abcdefghijkl--abcdefgh") == f"--{MASK}--{MASK}"
    assert redactor.redact("abcdefghabcdefgh") == MASK * 2


def test_white_space_around_a_secret_is_no_part_of_it() -> None:
    assert Redactor(["token-1234\n"]).redact("x token-1234 y") == f"x {MASK} y"


@given(st.text())
def test_text_without_the_secret_is_the_same_object(text: str) -> None:
    redactor = Redactor(["a secret that hypothesis will not find"])
    assert redactor.redact(text) is text
    assert not redactor.holds(text)


def test_a_value_is_masked_at_any_depth_keys_included() -> None:
    redactor = Redactor(["secret-value"])
    deep: object = "secret-value"
    for _ in range(400):
        deep = [deep]
    masked = redactor.redact_value({"a": ("secret-value", 1, None, True, 2.5), "secret-value": {"b": deep}})
    assert isinstance(masked, dict)
    assert masked["a"] == [MASK, 1, None, True, 2.5]
    inner = masked[MASK]["b"]
    while isinstance(inner, list):
        [inner] = inner
    assert inner == MASK


def test_a_masked_text_holds_no_secret_any_more() -> None:
    redactor = Redactor(SECRETS)
    text = " ".join(SECRETS)
    assert redactor.holds(text)
    assert not redactor.holds(redactor.redact(text))


def test_lone_surrogates_in_secret_and_text_are_no_trouble() -> None:
    assert Redactor(["abc\ud800def"]).redact("x abc\ud800def \udcff") == f"x {MASK} \udcff"
