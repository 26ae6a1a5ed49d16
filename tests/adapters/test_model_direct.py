"""What the wire formats share: names, keys, missing packages, pairs of calls and results, errors."""

import subprocess
import sys

import httpx2
import pytest
from pydantic_ai import exceptions
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UserError

from hilt.adapters.model_direct import anthropic, openai
from hilt.adapters.model_direct.errors import to_model_error
from hilt.core.errors import ConfigError, HarnessFault
from hilt.core.session import AssistantMessage, Message, ToolMessage, UserMessage
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.model import Capabilities
from tests.adapters.direct import SEARCH, asked, items, request
from tests.adapters.wire_formats import WIRES, Said

CALL = ToolCall("c1", SEARCH.name, "{}")
OTHER = ToolCall("c2", SEARCH.name, "{}")
RESULT = ToolResult("c1", "x")


@pytest.mark.req("DSP-08")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "messages",
    [
        (AssistantMessage(calls=(CALL,)),),
        (AssistantMessage(calls=(CALL,)), UserMessage(text="and?")),
        (AssistantMessage(calls=(CALL, OTHER)), ToolMessage(results=(RESULT,))),
        (AssistantMessage(calls=(CALL,)), ToolMessage(results=(RESULT, ToolResult("c2", "y")))),
        (AssistantMessage(calls=(CALL, OTHER)), ToolMessage(results=(ToolResult("c2", "y"), RESULT))),
        (ToolMessage(results=(RESULT,)),),
        (AssistantMessage(calls=(CALL,)), ToolMessage(results=(RESULT,)), ToolMessage(results=(RESULT,))),
    ],
)
async def test_a_call_without_its_result_or_a_result_without_its_call_is_never_sent(
    wire: str, messages: tuple[Message, ...]
) -> None:
    async with asked(wire) as (model, server):
        with pytest.raises(HarnessFault, match=r"the call 'c[12]' of the conversation is not paired"):
            await items(model, request(UserMessage(text="Go"), *messages))
    assert server.requests == []


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_without_text_and_a_conversation_that_ends_with_one_are_sent(wire: str) -> None:
    messages = (UserMessage(text="Go"), AssistantMessage(text="I went."))
    async with asked(wire, WIRES[wire](Said(text="On"))) as (model, server):
        await items(model, request(*messages))
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["anthropic/", "claude", "openai/gpt-5", ""])
def test_a_name_of_another_form_is_told(name: str) -> None:
    with pytest.raises(ConfigError, match=r"model: .* is not of the form anthropic/NAME"):
        anthropic.load_model(name, keys={"anthropic": "k"})


def test_a_missing_key_names_the_variable_that_holds_it() -> None:
    with pytest.raises(ConfigError, match="no API key for anthropic; set ANTHROPIC_API_KEY"):
        anthropic.load_model("anthropic/claude-sonnet-5-5", keys={"openai": "k"})
    with pytest.raises(ConfigError, match="no API key for openai; set OPENAI_API_KEY"):
        openai.load_model("openai-responses/gpt-5", keys={"openai": ""})


async def test_a_model_without_an_address_is_its_provider_s() -> None:
    for model, takes in (
        (
            anthropic.load_model("anthropic/claude-sonnet-5-5", keys={"anthropic": "k"}),
            Capabilities(images=True, window_tokens=1_000_000, profile="anthropic"),
        ),
        (
            openai.load_model("openai/gpt-5", keys={"openai": "k"}),
            Capabilities(images=True, window_tokens=400_000, profile="openai"),
        ),
        (
            openai.load_model("openai-responses/my-own", keys={"openai": "k"}),
            Capabilities(images=True, window_tokens=128_000, profile="openai"),
        ),
    ):
        assert model.capabilities == takes
        await model.aclose()


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [
        ("anthropic", "anthropic", "hilt[anthropic]"),
        ("anthropic", "pydantic_ai", "hilt[anthropic]"),
        ("openai", "openai", "hilt[openai]"),
        ("openai", "pydantic_ai", "hilt[openai]"),
    ],
)
def test_missing_packages_are_told_with_the_command_that_installs_them(module: str, missing: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from hilt.core.errors import ConfigError
try:
    import hilt.adapters.model_direct.{module}
except ConfigError as exc:
    print(exc)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50)
    assert f"pip install '{extra}'" in done.stdout


def test_one_provider_does_without_the_packages_of_another() -> None:
    code = "import sys; sys.modules['openai'] = None; import hilt.adapters.model_direct.anthropic"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)


_PERMANENT = {
    "ModelQuotaExceededError",
    "ModelRequestRejectedError",
    "ModelContextWindowExceededError",
    "ModelAuthenticationError",
    "ModelNotFoundError",
}


def _failures() -> list[type[ModelAPIError]]:
    named = [value for value in vars(exceptions).values() if isinstance(value, type)]
    found = [value for value in named if issubclass(value, ModelAPIError)]
    return [value for value in found if not issubclass(value, ModelHTTPError) and value.__name__[0] != "_"]


@pytest.mark.parametrize("kind", _failures())
def test_every_failure_of_the_library_says_whether_another_try_helps(kind: type[ModelAPIError]) -> None:
    exc = kind.__new__(kind)
    ModelAPIError.__init__(exc, "m", "it failed", retry_after=1.5)
    error = to_model_error(exc, model="p/m", secret="")
    assert error.transient == (kind.__name__ not in _PERMANENT)
    assert (str(error), error.status, error.retry_after_s) == ("p/m: it failed", None, 1.5)


@pytest.mark.parametrize(
    ("exc", "transient", "text"),
    [
        (ModelHTTPError(408, "m"), True, "p/m: status 408: the provider gave no reason"),
        (ModelHTTPError(413, "m", {"message": "too big"}), False, "p/m: status 413: too big"),
        (httpx2.ReadTimeout(""), True, "p/m: ReadTimeout"),
        (httpx2.StreamClosed(), True, "p/m: "),
        (UserError("wrong use"), False, "p/m: wrong use"),
        (KeyError("choices"), False, "p/m: 'choices'"),
    ],
)
def test_other_errors_are_told_in_one_line(exc: Exception, transient: bool, text: str) -> None:
    error = to_model_error(exc, model="p/m", secret="s3cr3t")
    assert error.transient == transient
    assert str(error).startswith(text)
    assert "\n" not in str(error)
