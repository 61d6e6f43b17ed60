"""The official client of OpenAI's interface against a running server.

    python openai_client.py http://127.0.0.1:8080

Needs the package openai (2.x). Uses the first language model; the demo model is enough.
"""
import asyncio
import json
import sys
from typing import Literal

import openai
from pydantic import BaseModel, Field

url = sys.argv[1]
client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
model = next(m.id for m in client.models.list() if m.model_dump().get("kind") == "language")
messages = [{"role": "user", "content": "Who are you?"}]


def chat():
    whole = client.chat.completions.create(model=model, messages=messages, temperature=0, max_tokens=24, logprobs=True, top_logprobs=2)
    assert whole.choices[0].finish_reason in ("stop", "length") and whole.usage.completion_tokens == len(whole.choices[0].logprobs.content)
    stream = client.chat.completions.create(
        model=model, messages=messages, temperature=0, max_tokens=24, stream=True, stream_options={"include_usage": True})
    text, usage = "", None
    for chunk in stream:
        usage = chunk.usage or usage
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    assert text == whole.choices[0].message.content and usage.completion_tokens == whole.usage.completion_tokens
    several = client.chat.completions.create(model=model, messages=messages, n=3, seed=1, temperature=1, max_tokens=8)
    assert len(several.choices) == 3
    with client.chat.completions.stream(model=model, messages=messages, max_tokens=8) as events:
        assert [e.type for e in events][-1] in ("content.done", "chunk")


class Person(BaseModel):
    name: str = Field(max_length=10)
    mood: Literal["calm", "wild"]
    age: int = Field(ge=0, le=99)


def structured():
    made = client.chat.completions.parse(model=model, messages=messages, response_format=Person, temperature=1, seed=2, max_tokens=600)
    assert isinstance(made.choices[0].message.parsed, Person), made
    tool = openai.pydantic_function_tool(Person, name="describe")
    called = client.chat.completions.create(model=model, messages=messages, tools=[tool], tool_choice="required", max_tokens=900, seed=3,
                                            parallel_tool_calls=False)
    call = called.choices[0].message.tool_calls[0]
    Person.model_validate_json(call.function.arguments)
    answer = client.chat.completions.create(model=model, tools=[tool], max_tokens=8, messages=[
        *messages, called.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": json.dumps({"ok": True})}])
    assert answer.choices[0].message.role == "assistant"


def completions():
    scored = client.completions.create(model=model, prompt="The lighthouse stood", max_tokens=0, echo=True, logprobs=1)
    assert scored.choices[0].logprobs.token_logprobs[0] is None and scored.choices[0].text == "The lighthouse stood"
    several = client.completions.create(model=model, prompt=["The", "A"], max_tokens=4, n=2)
    assert [c.index for c in several.choices] == [0, 1, 2, 3]
    rows = client.embeddings.create(model=model, input=["The lighthouse", "A cake"]).data
    assert abs(sum(v * v for v in rows[0].embedding) - 1) < 1e-4


def errors():
    for call, kind in ((lambda: client.chat.completions.create(model="nope", messages=messages), openai.NotFoundError),
                       (lambda: client.chat.completions.create(model=model, messages=[]), openai.BadRequestError),
                       (lambda: client.completions.create(model=model, prompt="x", suffix="y"), openai.BadRequestError)):
        try:
            call()
        except kind as e:
            assert e.body["message"]
        else:
            raise AssertionError(f"expected {kind}")


async def many():
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as own:
        tasks = [own.chat.completions.create(model=model, messages=messages, temperature=0, max_tokens=12) for _ in range(20)]
        texts = {made.choices[0].message.content for made in await asyncio.gather(*tasks)}
    assert len(texts) == 1


for part in (chat, structured, completions, errors):
    part()
    print(part.__name__, "ok")
asyncio.run(many())
print("many ok")
