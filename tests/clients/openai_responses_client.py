#!/usr/bin/env python3
"""Uses POST /v1/responses through the package openai: typed, streamed, asynchronous. Not part of ctest: pip install openai, then

    tests/clients/openai_responses_client.py http://127.0.0.1:8080 [MODEL]

Every object is checked strictly against the package's own types.
"""
import asyncio
import sys
import time

import openai
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

URL = sys.argv[1].rstrip("/") + "/v1"
KEY = "none"
client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
MODEL = sys.argv[2] if len(sys.argv) > 2 else client.models.list().data[0].id
EVENT = TypeAdapter(ResponseStreamEvent)
WEATHER = {"type": "function", "name": "weather", "description": "The weather at a place.", "strict": True,
           "parameters": {"type": "object", "properties": {"place": {"type": "string", "maxLength": 12}}, "required": ["place"],
                          "additionalProperties": False}}


def strict(response):
    """The package itself builds objects without checking them."""
    Response.model_validate(response.to_dict(mode="json"))
    return response


def refused(kind, call, needle):
    try:
        call()
    except kind as error:
        assert needle in str(error), error
        return
    raise AssertionError(f"expected {kind.__name__}: {needle}")


def test_text():
    response = strict(client.responses.create(model=MODEL, input="Who are you?", instructions="Be brief.", max_output_tokens=16,
                                              temperature=0, metadata={"k": "v"}))
    assert response.object == "response" and response.status in ("completed", "incomplete"), response
    assert response.metadata == {"k": "v"} and response.instructions == "Be brief." and response.temperature == 0
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens
    return response


def test_stream():
    whole = test_text()
    text, types, last = "", [], None
    for number, event in enumerate(client.responses.create(model=MODEL, input="Who are you?", instructions="Be brief.",
                                                           max_output_tokens=16, temperature=0, stream=True)):
        EVENT.validate_python(event.to_dict(mode="json"))
        assert event.sequence_number == number
        types.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
        last = event
    assert types[:4] == ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"], types
    assert types[-4:-1] == ["response.output_text.done", "response.content_part.done", "response.output_item.done"], types
    assert text == whole.output_text == last.response.output_text
    # The package's own accumulator, which checks the order.
    with client.responses.stream(model=MODEL, input="Who are you?", temperature=0, max_output_tokens=400) as stream:
        deltas = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        assert deltas == stream.get_final_response().output_text


def test_conversation():
    first = client.responses.create(model=MODEL, input="Who are you?", max_output_tokens=8, temperature=0)
    second = strict(client.responses.create(model=MODEL, input="And who is Ida?", previous_response_id=first.id, max_output_tokens=8))
    assert second.previous_response_id == first.id
    assert strict(client.responses.retrieve(second.id)).output_text == second.output_text
    items = list(client.responses.input_items.list(second.id, limit=1, order="asc"))  # page by page
    assert [i.role for i in items] == ["user", "assistant", "user"], items
    # What came out goes in again.
    again = client.responses.create(model=MODEL, max_output_tokens=8, input=[{"role": "user", "content": "Who are you?"}]
                                    + [o.to_dict() for o in first.output] + [{"role": "user", "content": "And who is Ida?"}])
    assert again.usage.input_tokens == second.usage.input_tokens
    client.responses.delete(first.id)
    refused(openai.NotFoundError, lambda: client.responses.retrieve(first.id), "no longer kept")
    unkept = client.responses.create(model=MODEL, input="x", max_output_tokens=1, store=False)
    refused(openai.NotFoundError, lambda: client.responses.retrieve(unkept.id), "no longer kept")


class Person(BaseModel):
    age: int
    gender: bool


def test_parse():
    response = client.responses.parse(model=MODEL, input="Describe Ida.", text_format=Person, max_output_tokens=200)
    assert isinstance(response.output_parsed, Person), response


def test_tools():
    """Needs a server that reads tool calls."""
    asked = [{"role": "user", "content": "The weather in Oslo?"}]
    response = strict(client.responses.create(model=MODEL, input=asked, tools=[WEATHER], tool_choice="required", max_output_tokens=200,
                                              parallel_tool_calls=False))
    call = next(o for o in response.output if o.type == "function_call")
    assert call.name == "weather" and "place" in call.arguments, call
    done = client.responses.create(model=MODEL, tools=[WEATHER], tool_choice="none", max_output_tokens=8,
                                   input=asked + [o.to_dict() for o in response.output]
                                   + [{"type": "function_call_output", "call_id": call.call_id, "output": "rain"}])
    assert done.output[0].type == "message", done
    pieces, whole = "", None
    for event in client.responses.create(model=MODEL, input=asked, tools=[WEATHER], tool_choice={"type": "function", "name": "weather"},
                                         parallel_tool_calls=False, max_output_tokens=200, stream=True):
        EVENT.validate_python(event.to_dict(mode="json"))
        if event.type == "response.function_call_arguments.delta":
            pieces += event.delta
        if event.type == "response.function_call_arguments.done":
            whole = event.arguments
    assert pieces == whole and whole.startswith("{"), (pieces, whole)


def test_background():
    response = client.responses.create(model=MODEL, input="Who are you?", background=True, max_output_tokens=16)
    for _ in range(500):
        now = client.responses.retrieve(response.id)
        if now.status not in ("queued", "in_progress"):
            break
        time.sleep(0.02)
    assert strict(now).status in ("completed", "incomplete"), now
    client.responses.cancel(response.id)


def test_errors():
    refused(openai.NotFoundError, lambda: client.responses.create(model="nope", input="x"), "does not exist")
    refused(openai.BadRequestError, lambda: client.responses.create(model=MODEL, input="x", tools=[{"type": "web_search"}]), "web_search")
    refused(openai.BadRequestError, lambda: client.responses.create(model=MODEL, input="x", temperature=-1), "temperature")
    try:
        client.responses.create(model=MODEL, input="x", max_output_tokens=0)
    except openai.BadRequestError as error:
        assert error.param == "max_output_tokens" and error.type == "invalid_request_error", error


async def test_async():
    many = openai.AsyncOpenAI(base_url=URL, api_key=KEY, max_retries=0)

    async def one(i):
        stream = await many.responses.create(model=MODEL, input=f"Story {i}", max_output_tokens=12, temperature=0, stream=True)
        return "".join([e.delta async for e in stream if e.type == "response.output_text.delta"])

    texts = await asyncio.gather(*[one(i) for i in range(4)])
    alone = [client.responses.create(model=MODEL, input=f"Story {i}", max_output_tokens=12, temperature=0).output_text for i in range(4)]
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
