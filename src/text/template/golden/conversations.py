"""Conversations of our own, each a request: messages and what else apply_chat_template is given."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather at a place, \"now\" or <later>.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "City & country"},
                "days": {"type": "integer", "minimum": 0, "default": None},
                "unit": {"type": "string", "enum": ["°C", "°F"]},
            },
            "required": ["place"],
        },
        "return": {"type": "object", "additionalProperties": {"type": "number"}},
    },
}
SEARCH = {
    "type": "function",
    "function": {
        "name": "búsqueda",
        "description": "Finds things.\nIn many places, that is.",
        "parameters": {
            "type": "object",
            "properties": {
                "queries": {"type": "array", "items": {"type": ["string", "null"]}, "description": "  what to look for  "},
                "filter": {
                    "type": "object",
                    "properties": {"since": {"type": "number", "default": 1.5e-7}, "tags": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "boolean"}}}},
                    "required": ["since"],
                },
            },
            "required": [],
        },
    },
}
EMPTY = {"type": "function", "function": {"name": "noop", "description": "Nothing", "parameters": {"type": "object", "properties": {}, "required": []}}}


def user(content, **more):
    return {"role": "user", "content": content, **more}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def system(content):
    return {"role": "system", "content": content}


def call(name, arguments, identity="abcDEF123"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(content, identity="abcDEF123", name="get_weather"):
    return {"role": "tool", "tool_call_id": identity, "name": name, "content": content}


ARGUMENTS = {"place": "Zürich \"HB\" <&'>", "days": 3, "deep": {"z": [1, 2.5, None, True, {"é": "\\n\n"}], "a": {}}, "empty": []}
CODE = "def f(x):\n\treturn {\"a\": x % 2, 'b': \"\\n\"}  # {{ not }} {% a %} {# tag #}\n\n```\n<|im_end|>\n"

CONVERSATIONS = {
    "one question": {"messages": [user("Hello!")]},
    "without prompt": {"messages": [user("Hello!"), assistant("Hi. How are you?")], "add_generation_prompt": False},
    "turns": {"messages": [user("  padded \n"), assistant("\n answer\t "), user("again"), assistant("yes"), user("bye")]},
    "system": {"messages": [system("Be brief.\nBe kind."), user("Who are you?"), assistant("A model."), user("Which?")]},
    "unicode": {"messages": [system("Σύστημα ß"), user("Größe 漢字 😀 👩‍👩‍👧 e\u0301 \u00a0nbsp\u3000wide "), assistant("Ωμέγα\u2028line"), user("\u200bzero\ufeff")]},
    "empty content": {"messages": [system(""), user(""), assistant(""), user(" \n ")]},
    "code and quotes": {"messages": [user(CODE), assistant("\"quoted\" 'single' \\ back `tick` & <b>html</b> &amp;"), user("a</think>b<think>c")]},
    "thoughts": {"messages": [user("2+2?"), assistant("<think>\n2+2\nis 4\n</think>\n\n4"), user("sure?"), assistant("<think>yes</think>Yes", reasoning_content="I am.\n")], "add_generation_prompt": False},
    "thinking off": {"messages": [system("/no_think Be quick. "), user("Hi")], "variables": {"enable_thinking": False}},
    "parts": {"messages": [system([{"type": "text", "text": "Look."}]), user([{"type": "image"}, {"type": "text", "text": " What is <this>? "}, {"type": "text", "text": "And that?"}]), assistant("A cat"), user("Sure?")]},
    "wrong order": {"messages": [user("a"), user("b"), assistant("c")]},
    "assistant first": {"messages": [assistant("Hello, I start."), user("ok")]},
    "unknown role": {"messages": [user("a"), {"role": "critic", "content": "b"}, user("c")]},
    "two systems": {"messages": [system("one"), user("a"), assistant("b"), system("two"), user("c")]},
    "tools offered": {"messages": [system("Use tools."), user("Weather in Zürich?")], "tools": [WEATHER, SEARCH, EMPTY]},
    "tool used": {"messages": [user("Weather?"), assistant(None, tool_calls=[call("get_weather", ARGUMENTS)]), tool("{\"t\": 21.5, \"s\": \"sun & \\\"wind\\\"\"}"), assistant("21.5 °C"), user("Thanks")], "tools": [WEATHER]},
    "several calls": {"messages": [user("Both?"), assistant("Let me see.", tool_calls=[call("get_weather", {"place": "A"}), call("búsqueda", {"queries": ["x", None]}, "zyxWVU987")]), tool("1"), tool("2", "zyxWVU987", "búsqueda")], "tools": [WEATHER, SEARCH]},
    "arguments as text": {"messages": [user("Go"), assistant("", tool_calls=[call("noop", "{\"a\": 1}", "short")]), tool("done", "short", "noop")], "tools": [EMPTY]},
    "structured result": {"messages": [user("Go"), assistant(None, tool_calls=[{"name": "noop", "arguments": {}, "id": "123456789", "function": {"name": "noop", "arguments": {}}}]), tool({"content": {"x": [1, 2]}}, "123456789")]},
    "no tools": {"messages": [user("Hi")], "tools": []},
    "builtin tools": {"messages": [user("Search"), assistant("", tool_calls=[call("brave", {"query": "x", "n": "2"})]), {"role": "ipython", "content": [1, {"a": None}]}], "variables": {"builtin_tools": ["brave", "code_interpreter"], "tools_in_user_message": False}, "tools": [WEATHER]},
    "documents": {"messages": [user("Read.")], "documents": [{"title": "A & B", "text": "First \"text\""}, {"title": "C", "text": "Zweiter"}], "variables": {"controls": {"length": "short", "originality": None}}},
    "documents and tools": {"messages": [user("Read.")], "documents": [{"title": "T", "text": ""}], "tools": [EMPTY], "variables": {"controls": ["citations"], "escape_html": True}},
    "numbers and nulls": {"messages": [user("n", weight=0.1, big=12345678901234567, none=None, flag=True, name="Al \"x\""), assistant(None), user("m", nested={"b": 1, "a": [1e-7, 1e22, -0.0]})]},
    "missing content": {"messages": [user("a"), {"role": "assistant"}, user("b")]},
    "continue": {"messages": [user("Tell"), assistant("Once upon a ")], "continue_final_message": True, "add_generation_prompt": False},
    "continue trimmed": {"messages": [system("s"), user("Tell"), assistant(" Once\n")], "continue_final_message": True, "add_generation_prompt": False},
    "continue parts": {"messages": [user("Tell"), assistant([{"type": "text", "text": "Once"}, {"type": "image"}])], "continue_final_message": True, "add_generation_prompt": False},
    "continue second part": {"messages": [user("Tell"), assistant([{"type": "text", "text": "Once"}, {"type": "text", "text": "more "}, {"type": "image"}])], "continue_final_message": True, "add_generation_prompt": False},
    "long": {"messages": [system("Long talk.")] + [m for i in range(24) for m in (user(f"Question {i}: " + "why " * (i % 5)), assistant(f"Because {i}."))] + [user("End?")]},
    "date given": {"messages": [user("Which day?")], "variables": {"date": "01 Jan 2000", "bos_token": "<other>"}},
}
