"""What A1111 and ComfyUI themselves make of prompts: cases.json.

  python make.py A1111 COMFYUI

A1111 and COMFYUI are folders that hold stable-diffusion-webui 1.10 and ComfyUI (2026) with their layout: modules/prompt_parser.py and
comfy/sd1_clip.py are read from there (needs lark 1.x). The committed cases.json was made with a transcription
of these functions, statement by statement.
"""

import ast
import json
import math
import pathlib
import random
import re
import sys

sys.path.insert(0, sys.argv[1])
from modules import prompt_parser as a1111  # noqa: E402

WANTED = ("parse_parentheses", "token_weights", "escape_important", "unescape_important")
tree = ast.parse(pathlib.Path(sys.argv[2], "comfy/sd1_clip.py").read_text())
tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in WANTED]
comfyui = {}
exec(compile(tree, "sd1_clip.py", "exec"), comfyui)

TYPED = [
    "", " ", "a cat", "(a)", "((a))", "[a]", "(a:1.3)", "(a: 1.3 )", "(a:.5)", "(a:-1)", "(a:0)", "a (b [c] (d:0.5)) e", "(a", "a)", "[a",
    "a]", "(a]", "[a)", "(a:1.3", "a:1.3)", "((a:1.3):0.5)", "\\(a\\)", "\\[a\\]", "(\\(a:1.2\\):1.1)", "a\\b", "a\\\\b", "a\\", "\\",
    "(a)(b)", "(un)(necessary)", "a (((house:1.3)) [on] a (hill:0.5), sun, (((sky))).", "BREAK", "a BREAK b", "a  BREAK\n b", "aBREAK b",
    "a BREAKb", "a BREAK BREAK b", "(a BREAK b:1.2)", "break", "a,BREAK,b", "_BREAK", "BREAK a", "a BREAK", "a (b) BREAK (c)",
    "(a:1.3.)", "(a:b:1.2)", "(time 10:30, x)", "(:1.3)", "()", "[]", "(())", "(a::1.2)", "(a :1.2)", "(a:+1.2)", "(a:1e2)", "(a:inf)x(b",
    "(foo)(bar)", "((foo):1.1)", "((foo:1.1))", "((foo:1.0):0.0)", "foo ((((lol (cat:666) attack:100)))) baz", "((a)(b)", "a)b(c)d(e)",
    "(a (b)", ")(", "a)(b((c)", "(a\\)", "\\((a\\))", "(über:1.2) [été] (中文:0.8)", "a\u00a0BREAK\u3000b", "éBREAK b", "(a\u00a0:\u20031.2)",
    "[a:b:3]", "[b:3]", "[a::3]", "[:b:3]", "[:3]", "[::3]", "[a:b: 3 ]", "[a:b:0.5]", "[a:b:.5]", "[a:b:1.]", "[a:b:0]", "[a:b:-1]",
    "[a:b:+2]", "[a:b:1e1]", "[a:b:5e-1]", "[a:b:99]", "[a:b:1.5]", "[a:5]", "[5:5]", "[a:b:c:3]", "[a:b]", "[a:b:3", "a:b:3]", "((a][:b:c [d:3]",
    "a[b:[c:d:2]:1]e", "[[a:b:2]:c:3]", "[a|b]", "[a|b|c]", "[fe|]male", "[fe|||]male", "[|]", "[|a]", "[a|(b:1.1)]", "[[a]|[b]]",
    "[[a|b]:c:3]", "[a|[b:c:3]]", "[a|b:3]", "a|b", "a|b [c:3]", "(a|b)", "(a|b) [c|d]", "(x [a:b:3]:1.2)", "(x [a:b] [c:d:3])", "[x [a:b:2] y]",
    "[a\\:b:3]", "[a\\|b|c]", "\\[a:b:3\\]", "[a:b:3]\\", "\\\n[a:b:3]", "[a: b\n:3]", "[a:\u00a03]", "[(a:b):3]", "(a:b:c)[d:1]", "[ 3]", "[ :3]",
    "[a:b:1.2]", "[a:b:1.7]", "[a:b:2.5]", "[a:b:4]", "[a:b:5]", "[a:b:6]", "[a:b:7]", "[a:[b:c:1.8]:5]", "[a:b:2:3]", "[a:b:1_0]", "[a:b:\u0663]", "[a:b:0x3]", "a AND b", "a AND b:0.7", "a :0.7 AND b : .5 ", "aAND b", "AND", "a AND", "AND b",
    "a AND a", "a AND b AND c:2", "a:1.2.3 AND b", "a:1. AND b:-0.5", "a:+2", "at 10:30", "a:\n2", "a :1 :2", "a:.", "a: 2 x", "(a:1.2) AND [b:c:2]:0.5",
    "a\nb AND c\nd:2\n", "sand AND hand", "a AND_b",
]


def random_prompt(rng):
    atoms = ["(", ")", "[", "]", ":", "|", "\\", "a", "b ", " ", "1.2", "3", "0.5", ":1.3)", ":2]", "BREAK", " AND ", "été", ",", "\n", "\\(", "\\]"]
    return "".join(rng.choice(atoms) for _ in range(rng.randrange(1, 14)))


def structured_prompt(rng, depth=0):
    """Brackets that mostly fit, now and then with a character too many or too few."""
    parts = []
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(9) if depth < 2 else 0
        when = rng.choice(["1", "2", "3", " 2 ", "0.5", ".25", "7", "0", "-1"])
        form = ("a", "b c", "({})", "({}:" + rng.choice(["1.2", ".5", " 2 ", "-1"]) + ")", "[{}]", "[{}:{}:" + when + "]",
                "[{}:" + when + "]", "[{}::" + when + "]", "[{}|{}]")[kind]
        parts.append(form.format(*(structured_prompt(rng, depth + 1) for _ in range(form.count("{}")))))
    text = " ".join(parts)
    if depth == 0 and rng.random() < 0.4 and text:
        i = rng.randrange(len(text))
        text = text[:i] + rng.choice(["", "(", ")", "[", "]", ":", "|", "\\"]) + text[i + 1:]
    return text


def weights_of(parse, prompt):
    """None where the program itself fails, or where a weight is no finite number."""
    try:
        parts = parse(prompt)
    except Exception:
        return None
    return [[text, weight] for text, weight in parts] if all(math.isfinite(weight) for _, weight in parts) else None


def comfyui_weights(prompt):
    parts = comfyui["token_weights"](comfyui["escape_important"](prompt), 1.0)
    return [(comfyui["unescape_important"](text), weight) for text, weight in parts]


def composition(prompt):
    indexes, texts, _ = a1111.get_multicond_prompt_list([prompt])
    return [[texts[i], weight] for i, weight in indexes[0]]


rng = random.Random(7)
made = {random_prompt(rng) for _ in range(300)} | {p for p in (structured_prompt(rng) for _ in range(600)) if len(p) < 40}
# Behind an edit, two brackets or colons that are text make A1111's parser take the edit for text, too; one or three do not. It finds
# both readings possible and takes either; hearth edits.
made = {prompt for prompt in made if not re.search(r"\][][():]{2}", prompt)}
cases = []
for prompt in TYPED + sorted(made):
    cases.append({
        "prompt": prompt,
        "a1111": weights_of(a1111.parse_prompt_attention, prompt),
        "comfyui": weights_of(comfyui_weights, prompt),
        "schedule": a1111.get_learned_conditioning_prompt_schedules([prompt], 4)[0],
        "and": composition(prompt),
    })
    if prompt in TYPED:  # a second pass of 3 steps
        cases[-1]["second"] = a1111.get_learned_conditioning_prompt_schedules([prompt], 4, 3)[0]
lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
pathlib.Path(__file__).with_name("cases.json").write_text("[\n" + lines + "\n]\n")
print(len(cases), "cases,", sum(len(c["schedule"]) > 1 for c in cases), "of them change")
