#!/usr/bin/env python3
"""Holds conversations with a server and writes them to src/server/api/transcripts, for transcripts_test.cpp.

    hearth serve --port 8080 &
    tests/clients/record.py http://127.0.0.1:8080

With the demo language model. The tests hold the conversations again, so record only what the API says, and look at the difference
before you commit it.
"""
import json
import pathlib
import sys
import urllib.error
import urllib.request

ASK = {"temperature": 0, "max_output_tokens": 6}
SAY = {"temperature": 0, "max_tokens": 6}
USER = [{"role": "user", "content": "Who are you?"}]
SCHEMA = {"enum": ["red", "green"]}

# Name → requests, (method, path, body). IDn_ is the n-th id that occurs in the answers.
CONVERSATIONS = {
    "responses_text": [
        ("POST", "/v1/responses", {"input": "Who are you?", **ASK}),
        ("POST", "/v1/responses", {"input": "Who are you?", "stream": True, "instructions": "Be brief.", "metadata": {"k": "v"}, **ASK}),
        ("POST", "/v1/responses", {"input": "Who are you?", "stream": True, "temperature": 0, "max_output_tokens": 200, "store": False}),
    ],
    "responses_conversation": [
        ("POST", "/v1/responses", {"input": "Who are you?", **ASK}),
        ("POST", "/v1/responses", {"input": [{"role": "user", "content": "And who is Ida?"}], "previous_response_id": "ID0_", **ASK}),
        ("GET", "/v1/responses/ID2_/input_items?order=asc", None),
        ("GET", "/v1/responses/ID2_", None),
        ("POST", "/v1/responses/ID2_/cancel", {}),
        ("DELETE", "/v1/responses/ID2_", None),
    ],
    "responses_schema": [
        ("POST", "/v1/responses", {"input": "Which color?", "text": {"format": {"type": "json_schema", "name": "color", "schema": SCHEMA}},
                                   "temperature": 0, "stream": True}),
    ],
    "responses_refusals": [
        ("POST", "/v1/responses", {"input": "x", "model": "nope"}),
        ("POST", "/v1/responses", {"input": "x", "tools": [{"type": "web_search"}]}),
        ("POST", "/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}], "stream": True}),
        ("POST", "/v1/responses", {"input": "x", "previous_response_id": "resp_none"}),
        ("POST", "/v1/responses", {"input": "x", "reasoning": {"effort": "high"}}),
        ("POST", "/v1/responses", {}),
    ],
    "messages_text": [
        ("POST", "/v1/messages", {"messages": USER, **SAY}),
        ("POST", "/v1/messages", {"messages": USER, "system": "Be brief.", "stream": True, **SAY}),
        ("POST", "/v1/messages", {"messages": USER, "stream": True, "temperature": 0, "max_tokens": 200}),
        ("POST", "/v1/messages", {"messages": USER + [{"role": "assistant", "content": "I am"}], **SAY}),
        ("POST", "/v1/messages/count_tokens", {"messages": USER, "system": "Be brief."}),
    ],
    "messages_refusals": [
        ("POST", "/v1/messages", {"messages": USER, "model": "nope", **SAY}),
        ("POST", "/v1/messages", {"messages": USER}),
        ("POST", "/v1/messages", {"messages": [{"role": "user", "content": [{"type": "image"}]}], "stream": True, **SAY}),
        ("POST", "/v1/messages", {"messages": USER, "temperature": 2, "max_tokens": 6}),
        ("POST", "/v1/messages", {"messages": USER, "thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}),
    ],
}

ID_NAMES = {"id", "item_id", "previous_response_id", "first_id", "last_id", "call_id"}


class Scrubber:
    """As in transcripts_test.cpp."""

    def __init__(self):
        self.numbers = {}

    def scrub(self, value):
        if isinstance(value, dict):
            value = dict(value)
            if "cache_read_input_tokens" in value:
                value["input_tokens"] += value["cache_read_input_tokens"]
                value["cache_read_input_tokens"] = 0
            for name, member in value.items():
                if name in ("created_at", "completed_at", "created"):
                    value[name] = None if member is None else 0
                elif name == "request_id":
                    value[name] = "ID"
                elif name == "cached_tokens":
                    value[name] = 0
                elif name in ID_NAMES and isinstance(member, str):
                    value[name] = self.numbers.setdefault(member, f"ID{len(self.numbers)}_")
                else:
                    value[name] = self.scrub(member)
            return value
        return [self.scrub(v) for v in value] if isinstance(value, list) else value

    def real(self, text):
        for real, number in self.numbers.items():
            text = text.replace(number, real)
        return text


def events_of(body):
    for event in body.split("\n\n"):
        for line in event.split("\n"):
            if line.startswith("data: "):
                data = line[6:]
                yield data if data == "[DONE]" else json.loads(data)


def main():
    url = sys.argv[1].rstrip("/")
    folder = pathlib.Path(__file__).resolve().parents[2] / "src/server/api/transcripts"
    for name, requests in CONVERSATIONS.items():
        scrubber, steps = Scrubber(), []
        for method, path, body in requests:
            data = None if body is None else scrubber.real(json.dumps(body)).encode()
            request = urllib.request.Request(url + scrubber.real(path), data, {"Content-Type": "application/json"}, method=method)
            try:
                response = urllib.request.urlopen(request)
            except urllib.error.HTTPError as error:
                response = error
            text = response.read().decode()
            step = {"method": method, "path": path, "body": body, "status": response.status}
            if response.headers["Content-Type"].startswith("text/event-stream"):
                step["events"] = [scrubber.scrub(e) for e in events_of(text)]
            else:
                step["answer"] = scrubber.scrub(json.loads(text))
            steps.append(step)
        lines = []
        for step in steps:
            head = json.dumps({k: v for k, v in step.items() if k not in ("events", "answer")}, ensure_ascii=False)[:-1]
            if "events" in step:
                rows = ",\n   ".join(json.dumps(e, ensure_ascii=False) for e in step["events"])
                lines.append(f' {head},\n  "events": [\n   {rows}]}}')
            else:
                lines.append(f' {head},\n  "answer": {json.dumps(step["answer"], ensure_ascii=False)}}}')
        (folder / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
        print(f"{name}: {len(steps)} requests")


main()
