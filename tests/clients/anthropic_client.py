#!/usr/bin/env python3
"""Uses POST /v1/messages through the package anthropic: typed, streamed, asynchronous. Not part of ctest: pip install anthropic, then

    tests/clients/anthropic_client.py http://127.0.0.1:8080 MODEL

Every object is checked strictly against the package's own types.
"""
import asyncio
import sys

import anthropic
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

URL, MODEL = sys.argv[1].rstrip("/"), sys.argv[2]
client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
EVENT = TypeAdapter(RawMessageStreamEvent)
ASK = {"model": MODEL, "messages": [{"role": "user", "content": "Who are you?"}], "max_tokens": 16}
GREEDY = {"temperature": 0}  # 'extra_body': newer versions of the package have no such parameter
WEATHER = {"name": "weather", "description": "The weather at a place.",
           "input_schema": {"type": "object", "properties": {"place": {"type": "string", "maxLength": 12}}, "required": ["place"],
                            "additionalProperties": False}}


def strict(message):
    """The package itself builds objects without checking them."""
    Message.model_validate(message.to_dict(mode="json"))
    return message


def refused(kind, call, needle):
    try:
        call()
    except kind as error:
        assert needle in str(error), error
        assert error.request_id, error
        return error
    raise AssertionError(f"expected {kind.__name__}: {needle}")


def test_text():
    message = strict(client.messages.create(**ASK, system="Be brief.", extra_body=GREEDY))
    assert message.role == "assistant" and message.content[0].type == "text", message
    assert message.stop_reason in ("max_tokens", "end_turn") and message.usage.output_tokens <= 16, message
    assert message._request_id
    counted = client.messages.count_tokens(model=MODEL, messages=ASK["messages"], system="Be brief.")
    assert counted.input_tokens == message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
    return message.content[0].text


def test_stream():
    whole = test_text()
    types, text = [], ""
    for event in client.messages.create(**ASK, system="Be brief.", extra_body=GREEDY, stream=True):
        EVENT.validate_python(event.to_dict(mode="json"))
        types.append(event.type)
        if event.type == "content_block_delta":
            text += event.delta.text
    assert types[:2] == ["message_start", "content_block_start"], types
    assert types[-3:] == ["content_block_stop", "message_delta", "message_stop"], types
    assert text == whole
    with client.messages.stream(**ASK, system="Be brief.", extra_body=GREEDY) as stream:
        assert "".join(stream.text_stream) == whole
        assert stream.get_final_message().content[0].text == whole


def test_stop_sequence():
    text = test_text()
    message = client.messages.create(**ASK, system="Be brief.", extra_body=GREEDY, stop_sequences=[text[4:8]])
    assert message.stop_reason == "stop_sequence" and message.stop_sequence == text[4:8], message
    assert message.content[0].text == text[:text.index(text[4:8])]


def test_prefill():
    messages = ASK["messages"] + [{"role": "assistant", "content": "I am"}]
    assert client.messages.create(**{**ASK, "messages": messages}).content[0].text


def test_tools():
    """Needs a server that reads tool calls."""
    ask = {**ASK, "max_tokens": 200, "tools": [WEATHER]}
    message = strict(client.messages.create(**ask, tool_choice={"type": "tool", "name": "weather", "disable_parallel_tool_use": True}))
    call = message.content[-1]
    assert message.stop_reason == "tool_use" and call.type == "tool_use" and "place" in call.input, message
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "rain"}]}
    messages = ask["messages"] + [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    assert client.messages.create(**{**ask, "messages": messages, "max_tokens": 8}, tool_choice={"type": "none"})
    with client.messages.stream(**ask, tool_choice={"type": "any"}) as stream:
        for _ in stream:
            pass
        assert "place" in stream.get_final_message().content[-1].input


def test_errors():
    error = refused(anthropic.NotFoundError, lambda: client.messages.create(**{**ASK, "model": "nope"}), "does not exist")
    assert error.type == "not_found_error", error.type
    image = [{"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}]
    error = refused(anthropic.BadRequestError,
                    lambda: client.messages.create(**{**ASK, "messages": [{"role": "user", "content": image}]}), "takes text only")
    assert error.type == "invalid_request_error", error.type
    refused(anthropic.BadRequestError, lambda: client.messages.create(**ASK, extra_body={"temperature": 1.5}), "temperature")


async def test_async():
    many = anthropic.AsyncAnthropic(base_url=URL, api_key="none", max_retries=0)

    async def one(i):
        ask = {**ASK, "messages": [{"role": "user", "content": f"Story {i}"}]}
        async with many.messages.stream(**ask, extra_body=GREEDY) as stream:
            return await stream.get_final_text()

    texts = await asyncio.gather(*[one(i) for i in range(4)])
    alone = [client.messages.create(**{**ASK, "messages": [{"role": "user", "content": f"Story {i}"}]}, extra_body=GREEDY).content[0].text
             for i in range(4)]
    assert texts == alone, (texts, alone)


def main():
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            asyncio.run(test()) if asyncio.iscoroutinefunction(test) else test()
            print(f"ok      {name}")
        except Exception as error:  # noqa: BLE001: each test reports its own
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}")
    sys.exit(failed > 0)


main()
