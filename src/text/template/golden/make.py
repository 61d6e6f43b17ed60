"""Writes snippets.json and chats.json beside this file: what Jinja2 3.1.6 in transformers 4.57.1 makes of snippets.py, templates/ and
conversations.py. Needs Python 3.11 with these two; run it in this folder."""

import datetime
import json
import re
import traceback
from pathlib import Path

import jinja2
import transformers
from transformers.utils import chat_template_utils

import conversations
import snippets

HERE = Path(__file__).parent
NOW = (2024, 7, 26, 13, 5, 9, 1234)


class FixedTime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(*NOW)


chat_template_utils.datetime = FixedTime


def kind_of(error):
    kinds = [
        ((jinja2.TemplateSyntaxError, SyntaxError), "syntax"),
        (jinja2.exceptions.SecurityError, "security"),
        (jinja2.UndefinedError, "undefined"),
        (jinja2.exceptions.TemplateRuntimeError, "runtime"),
        (jinja2.TemplateError, "raised"),
        (TypeError, "type"),
        ((OverflowError, ZeroDivisionError), "overflow"),
        (RecursionError, "limit"),
        ((ValueError, LookupError, AttributeError, AssertionError), "value"),
        (RuntimeError, "runtime"),
    ]
    for classes, name in kinds:
        if isinstance(error, classes):
            return name
    raise error


def line_of(error):
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
    return places[-1] if places else 0


def message_of(error):
    message = getattr(error, "message", None) or str(error)
    if isinstance(error, SyntaxError):  # from Python's own compiler, which sees the code that Jinja2 made
        message = re.sub(r" \(<template>, line \d+\)$", "", message)
        message = re.sub(r"'l_\d+_(\w+)'", r"'\1'", message)
    return message


def render(source, variables):
    """The text, or the kind of error, its message and its line."""
    try:
        return chat_template_utils._compile_jinja_template(source).render(**variables)
    except Exception as error:
        return [kind_of(error), message_of(error), line_of(error)]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write_lines(name, head, rows):
    """One row a line, so that a change of one is seen."""
    with open(HERE / name, "w", encoding="utf-8") as out:
        out.write(compact(head)[:-1] + ',"cases":[\n')
        out.write(",\n".join(compact(row) for row in rows))
        out.write("\n]}\n")


TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def chat(template, request):
    """What apply_chat_template(tokenize=False) gives, or the error as above."""
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            conversations=[request["messages"]],
            tools=request.get("tools"),
            documents=request.get("documents"),
            chat_template=template,
            add_generation_prompt=request.get("add_generation_prompt", True),
            continue_final_message=request.get("continue_final_message", False),
            **{**TOKENS, **request.get("variables", {})},
        )
        return rendered[0]
    except Exception as error:
        return [kind_of(error), message_of(error), line_of(error)]


VERSIONS = {"jinja2": jinja2.__version__, "transformers": transformers.__version__}

if __name__ == "__main__":
    rows = [[source, render(source, snippets.VARIABLES)] for source in snippets.snippets()]
    write_lines("snippets.json", {"versions": VERSIONS, "now": NOW, "variables": snippets.VARIABLES}, rows)
    print(len(rows), "snippets")

    requests = conversations.CONVERSATIONS
    rows = []
    for file in sorted((HERE / "templates").glob("*.jinja")):
        template = file.read_text(encoding="utf-8")
        rows.append([file.stem, {name: chat(template, request) for name, request in requests.items()}])
    write_lines("chats.json", {"versions": VERSIONS, "now": NOW, "tokens": TOKENS, "requests": requests}, rows)
    print(len(rows), "templates with", len(requests), "conversations")
    for name, results in rows:
        errors = [result for result in results.values() if not isinstance(result, str)]
        print(f"{name:20} {len(errors):3} errors", sorted({error[0] for error in errors}))
