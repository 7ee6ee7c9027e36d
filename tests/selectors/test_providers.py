"""The providers: what they send, what they make of any answer, and that no key is ever shown."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from tests.selectors.http_script import Reply, Script, serve

from toolpick_selectors.providers import ANSWER_SCHEMA, Answer, ProviderError, Question
from toolpick_selectors.providers.anthropic import AnthropicProvider
from toolpick_selectors.providers.credential import Credential, redact, retry_after
from toolpick_selectors.providers.openai import OpenAIProvider
from toolpick_selectors.providers.sampling import SamplingProvider

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTION = Question("be brief", "which?", 50, "c1")
KEY = "sk-very-secret-1234567890"


@pytest.fixture
def wire() -> Iterator[Script]:
    with serve() as script:
        yield script


def openai(wire: Script, **options: Any) -> OpenAIProvider:
    options = {"credential": Credential(KEY), **options}
    return OpenAIProvider(model="small", base_url=f"{wire.url}/v1", **options)


def anthropic(wire: Script, **options: Any) -> AnthropicProvider:
    options = {"credential": Credential(KEY), **options}
    return AnthropicProvider(model="small", base_url=wire.url, **options)


def chat(content: Any, reason: str = "stop", tokens: int = 12) -> Reply:
    return Reply(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "small",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": reason,
                    "message": {"role": "assistant", "content": content},
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": tokens},
        }
    )


def message(*content: Any, reason: str = "tool_use") -> Reply:
    usage = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 4}
    return Reply(
        {
            "id": "1",
            "type": "message",
            "role": "assistant",
            "model": "small",
            "content": list(content),
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }
    )


async def answer_of(provider: Any) -> Answer:
    try:
        return await provider.ask(QUESTION)
    finally:
        await provider.aclose()


async def error_of(provider: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answer_of(provider)
    return caught.value


async def outcome_of(provider: Any) -> str:
    try:
        return "an answer" if isinstance(await answer_of(provider), Answer) else "a stranger"
    except ProviderError as error:
        return "something unusable" if "something unusable" in str(error) else str(error)


async def test_openai_is_asked_once_without_streaming_for_json_in_a_schema(wire):
    wire.say(chat('{"tools": ["a"]}'))
    assert await answer_of(openai(wire, extra={"temperature": 0})) == Answer('{"tools": ["a"]}', 12)
    [request] = wire.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "which?"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "choice", "strict": True, "schema": ANSWER_SCHEMA},
        },
        "max_tokens": 50,
        "temperature": 0,
    }


async def test_anthropic_is_asked_once_and_must_use_the_one_tool(wire):
    used = {"type": "tool_use", "id": "t", "name": "choose", "input": {"tools": ["a"]}}
    wire.say(message({"type": "text", "text": "Well"}, used))
    assert await answer_of(anthropic(wire)) == Answer('{"tools": ["a"]}', 17)
    [request] = wire.requests
    assert request.path == "/v1/messages"
    assert KEY in request.headers.get("x-api-key", "") + request.headers.get("authorization", "")
    assert request.body == {
        "model": "small",
        "max_tokens": 50,
        "system": "be brief",
        "messages": [{"role": "user", "content": "which?"}],
        "tools": [
            {
                "name": "choose",
                "description": "Say which tools are needed.",
                "input_schema": ANSWER_SCHEMA,
            }
        ],
        "tool_choice": {"type": "tool", "name": "choose"},
    }


async def test_an_endpoint_that_rejects_the_shape_is_asked_plainly_from_then_on(wire):
    rejection = Reply({"error": {"message": "response_format is not supported"}}, 400)
    wire.say(rejection, chat("[]"))
    provider = openai(wire)
    assert (await provider.ask(QUESTION)).text == "[]"
    assert (await answer_of(provider)).text == "[]"
    assert ["response_format" in request.body for request in wire.requests] == [True, False, False]
    assert all("stream" not in request.body for request in wire.requests)


async def test_a_claude_that_rejects_forced_tools_is_asked_plainly(wire):
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no tools"}}
    wire.say(Reply(error, 400), message({"type": "text", "text": "[]"}, reason="end_turn"))
    assert await answer_of(anthropic(wire)) == Answer("[]", 17)
    assert ["tools" in request.body for request in wire.requests] == [True, False]


async def test_an_answer_that_was_cut_off_says_so(wire):
    wire.say(chat('{"too', "length"))
    assert await answer_of(openai(wire)) == Answer('{"too', 12, complete=False)
    wire.say(message({"type": "text", "text": '{"too'}, reason="max_tokens"))
    assert await answer_of(anthropic(wire)) == Answer('{"too', 17, complete=False)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Sign in</html>",
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": "x"},
        [],
        b"null",
    ],
)
async def test_whatever_an_openai_endpoint_sends_becomes_an_answer_or_one_error(wire, body):
    wire.say(Reply(body), Reply(body))
    assert await outcome_of(openai(wire)) in ("an answer", "something unusable")


@pytest.mark.parametrize("body", [b"<html>", {}, {"content": "x"}, {"content": [{}]}, [], b"null"])
async def test_whatever_an_anthropic_endpoint_sends_becomes_an_answer_or_one_error(wire, body):
    wire.say(Reply(body), Reply(body))
    assert await outcome_of(anthropic(wire)) in ("an answer", "something unusable")


@pytest.mark.parametrize("make", [openai, anthropic])
async def test_a_refused_key_is_said_without_quoting_the_answer(wire, make, caplog):
    caplog.set_level(logging.DEBUG)
    wire.say(Reply({"error": {"message": f"Incorrect key {KEY}"}}, 401))
    provider = make(wire)
    error = await error_of(provider)
    assert str(error) == f"{provider.name} refused the key (HTTP 401); set api_key_env or api_key"
    assert KEY not in caplog.text + repr(provider) + repr(Credential(KEY))


@pytest.mark.parametrize("make", [openai, anthropic])
async def test_a_server_error_is_quoted_without_the_key(wire, make):
    wire.say(Reply({"error": {"message": f"bad thing with {KEY}\nand more"}}, 500))
    error = await error_of(make(wire))
    assert "answered HTTP 500" in str(error)
    assert KEY not in str(error)
    assert error.retry_after is None


@pytest.mark.parametrize("make", [openai, anthropic])
async def test_a_busy_endpoint_passes_on_how_long_to_wait(wire, make):
    wire.say(Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "7"}))
    provider = make(wire)
    error = await error_of(provider)
    busy = f"{provider.name} is busy (HTTP 429) and asked to be left alone for 7 s"
    assert (str(error), error.retry_after) == (busy, 7.0)
    wire.say(Reply({"error": {"message": "slow down"}}, 429))
    assert (await error_of(make(wire))).retry_after is None
    assert len(wire.requests) == 2


@pytest.mark.parametrize("make", [openai, anthropic])
async def test_an_endpoint_that_is_not_there_is_named(wire, make):
    nowhere = Script()
    nowhere.url = "http://127.0.0.1:9"
    provider = make(nowhere)
    assert str(await error_of(provider)).startswith(f"{provider.name} can't be reached: ")


@pytest.mark.parametrize("make", [openai, anthropic])
async def test_a_key_is_read_from_the_variable_that_is_named(wire, make, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    wire.say(chat("[]") if make is openai else message({"type": "text", "text": "[]"}))
    await answer_of(make(wire, credential=Credential(variable="MY_KEY")))
    sent = wire.requests[0].headers
    assert KEY in (sent.get("authorization", "") + sent.get("x-api-key", ""))
    monkeypatch.delenv("MY_KEY")
    error = await error_of(make(wire, credential=Credential(variable="MY_KEY")))
    assert "environment variable 'MY_KEY' that holds its key is not set" in str(error)


@pytest.mark.parametrize("make", [openai, anthropic])
async def test_the_vendors_own_key_does_not_go_to_another_endpoint(wire, make, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    wire.say(chat("[]") if make is openai else message({"type": "text", "text": "[]"}))
    await answer_of(make(wire, credential=Credential()))
    assert KEY not in json.dumps(dict(wire.requests[0].headers))


@pytest.mark.parametrize("kind", [OpenAIProvider, AnthropicProvider])
async def test_no_key_at_all_is_one_sentence(kind, monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    provider = kind(model="small", base_url="", credential=Credential())
    error = await error_of(provider)
    assert "can't be asked: " in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(("make", "extra"), [(openai, "openai"), (anthropic, "anthropic")])
async def test_a_library_that_is_not_installed_is_named_with_the_command(
    wire, make, extra, monkeypatch
):
    monkeypatch.setitem(__import__("sys").modules, extra, None)
    assert str(await error_of(make(wire))) == (
        f"the package {extra!r} is not installed; run: pip install 'toolpick[{extra}]'"
    )


async def test_sampling_hands_the_question_to_the_host():
    asked = []

    async def sample(question: Question) -> str:
        asked.append(question)
        return "[]"

    assert await answer_of(SamplingProvider(sample)) == Answer("[]")
    assert asked == [QUESTION]


async def test_sampling_passes_on_an_answer_and_an_error_as_they_are():
    async def counted(question: Question) -> Answer:
        return Answer("[]", 5)

    async def declined(question: Question) -> str:
        raise ProviderError("the person declined")

    assert await answer_of(SamplingProvider(counted)) == Answer("[]", 5)
    assert str(await error_of(SamplingProvider(declined))) == "the person declined"


async def test_an_unforeseen_failure_of_the_host_is_one_sentence(caplog):
    async def broken(question: Question) -> str:
        raise RuntimeError(KEY)

    error = await error_of(SamplingProvider(broken))
    assert str(error) == "the client's own model can't be asked: RuntimeError"


def test_redacting_takes_secrets_and_names_in_urls():
    text = f"a {KEY}\n at https://user:{KEY}@host/x " + "y" * 500
    shown = redact(text, KEY, "")
    assert shown.startswith("a *** at https://host/x yyy")
    assert len(shown) == 200


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("", None),
        ("12", 12.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("nan", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(given, seconds):
    assert retry_after({"retry-after": given}, now=10.0) == seconds
