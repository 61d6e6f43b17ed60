"""The prompts of the corpus: every kind of text that the three cleanings treat differently. Deterministic."""
import html.entities
import random
import unicodedata

ASSIGNED = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
USUAL = [c for c in ASSIGNED if unicodedata.category(chr(c)) != "Co"]
BY_CATEGORY = {}
for _c in ASSIGNED:
    BY_CATEGORY.setdefault(unicodedata.category(chr(_c)), []).append(_c)
DIGITS = BY_CATEGORY["Nd"]
NAMES = sorted(html.entities.html5)

WORDS = """a an the of in on with and photo painting portrait cat dog house astronaut horse mountain castle river sunset
detailed 8k masterpiece trending artstation cinematic lighting ultra-realistic (best quality:1.2) [blurry] {sharp} it's don't
we're I'll you'd they've I'm O'Reilly rock'n'roll 'tis '90s C++ f/1.8 3.14 1,000 50mm #tag @user e-mail://x.y?z=1&q=2 __init__
naïve café Ångström Straße ŒUVRE ÆON résumé señor İstanbul ısı ǅ ŉ ﬁnal oﬃce ﬆop ſtrange 𝒥ohn Ⅷ ½ ² ³""".split()
HOT = [
    "\r\n", "\r", "\n", "\t", "\v", "\f", " ", "  ", "\u00a0", "\u1680", "\u180e", "\u0085", "\u2002", "\u2009", "\u200a", "\u2028", "\u2029",
    "\u202f", "\u205f", "\u3000", "\u200b", "\u200c", "\u200d", "\u200e", "\u202e", "\u2060", "\u206a", "\ufeff", "\ufff9", "\ufffc",
    "\ufffd", "\x00", "\x01", "\x1b", "\x1c", "\x1f", "\x7f", "\x80", "\x81", "\x91", "\x93", "\x9f", "\u00ad", "\u0345", "\u017f", "\u212a",
    "\u212b", "\u0130", "\u0131", "Σ", "σ", "ς", "ΑΣ", "Σ.", "'", "\u2019", "\u02bc", "'s", "'S", "'ſ", "'T", "'re", "'VE", "'m", "'Ll", "'D",
    "\u0301", "\u0323", "\u0307", "\u20dd", "\ufe0f", "\U0001f3fb", "\U000e0067", "\u3099", "\uff9e", "\uff76", "\uffa1", "\uffe6", "！", "＜", "＆",
    "<", ">", "&", ";", "#", "|", "<|", "|>", "!", "!!", "?", "中", "文", "描述", "\U0002070e", "\uf900", "\u3007", "ア", "ｱ", "한", "\u1100", "\u1161",
    "\u11a8", "ש", "\u05bc", "ع", "\u0640", "ा", "क", "\u093c", "ก", "\u0e33", "Ǆ", "ﬀ", "ﬅ", "Ĳ", "٣", "௩", "𝟘", "①", "Ⅻ", "\U0001d7ff", "\ue000", "\ufffe",
]
SPECIALS = [
    "<|startoftext|>", "<|endoftext|>", "<|STARTOFTEXT|>", "<|EndOfText|>", "<|ſtartoftext|>", "<|startoftext|", "|endoftext|>", "<|endoftext|>>",
    "<<|endoftext|>", "&lt;|endoftext|&gt;", "＜|endoftext|＞", "<| endoftext |>",
]
EMOJI = ["👩", "👧", "👍", "🏽", "\u200d", "❤", "\ufe0f", "🇩", "🇪", "🏴", "\U000e0062", "\U000e007f", "♂", "1", "\u20e3", "🧑", "🚀"]


def escape_sequence(r):
    digits = "".join(r.choice(["0", "1", "3", "36", ";", chr(r.choice(DIGITS))]) for _ in range(r.randrange(5)))
    return r.choice(["\x1b[", "\x1b", "\x1b[["]) + digits + r.choice(["m", "H", "", "K", "é", " "])


def reference(r):
    kind = r.randrange(8)
    if kind == 0:
        return f"&{r.choice(NAMES)}"
    if kind == 1:
        return f"&{r.choice(NAMES).upper()}"
    if kind == 2:
        return "&" + "amp;" * r.randrange(1, 5) + r.choice(["", "lt;", "#38;", "quot;"])
    if kind == 3:
        return f"&#{r.choice([0, 9, 10, 13, 32, 38, 39, 59, 60, 65, 127, 128, 129, 145, 150, 159, 160, 8217, 0xD800, 0xFDD0, 0xFFFF, 0x10FFFF, 0x110000, 10**23])};"
    if kind == 4:
        return f"&#{r.choice('xX')}{r.choice([0x26, 0x3c, 0x80, 0x8d, 0x1f600, 0xdc00, 0xfffe, 0x7f, 0x0b, 0x0c, 0x85]):{r.choice('xX')}};"
    if kind == 5:
        return r.choice(["&#;", "&#x;", "&;", "&#12ab;", "&#xfg;", "&#65", "& amp;", "&&amp;", "&amp", "&#0000000000000000000000065;", "&#x00000000000000000000041;"])
    if kind == 6:
        return f"&#{r.choice(ASSIGNED)};"
    return f"&{''.join(r.choice('abcdefgLT1') for _ in range(r.choice([2, 3, 24, 25])))};"


def code_points(r, pool, least=1, most=8):
    return "".join(chr(r.choice(pool)) for _ in range(r.randrange(least, most + 1)))


def neighbourhood(r):
    """A few code points of one region: a script, or a row of symbols."""
    middle = r.randrange(len(USUAL))
    return "".join(chr(USUAL[(middle + r.randrange(-40, 40)) % len(USUAL)]) for _ in range(r.randrange(1, 10)))


def item(r):
    kind = r.randrange(16)
    if kind < 4:
        return r.choice(WORDS)
    if kind < 8:
        return r.choice(HOT)
    if kind == 8:
        return code_points(r, BY_CATEGORY[r.choice(sorted(BY_CATEGORY))], 1, 3)
    if kind == 9:
        return neighbourhood(r)
    if kind == 10:
        return reference(r)
    if kind == 11:
        return escape_sequence(r)
    if kind == 12:
        return r.choice(SPECIALS)
    if kind == 13:
        return "".join(r.choice(EMOJI) for _ in range(r.randrange(1, 6)))
    if kind == 14:
        return r.choice(WORDS).upper()
    return chr(r.choice(DIGITS)) + r.choice(["", "0", "a"])


def prompts(count, seed=1):
    r = random.Random(seed)
    out = ["", " ", "\n", "<|endoftext|>", "&amp;", "a" * 3000, "ab" * 1500, "é" * 1000, "!" * 999, "1" * 500, "中" * 300, "' " * 200, "x " * 300]
    out += [c for c in HOT] + list(SPECIALS) + [f"a{c}b" for c in HOT] + [f"a {c}" for c in SPECIALS]
    while len(out) < count:
        style = r.randrange(10)
        if style == 0:
            out.append(code_points(r, USUAL, 1, 12))
        elif style == 1:
            out.append(neighbourhood(r) + r.choice(["", " ", "'s"]) + neighbourhood(r))
        elif style == 2:
            out.append(" ".join(r.choice(WORDS) for _ in range(r.randrange(1, 9))))
        elif style == 3:
            out.append("".join(r.choice(HOT) for _ in range(r.randrange(1, 9))))
        else:
            out.append("".join(item(r) + r.choice(["", "", " ", ", "]) for _ in range(r.randrange(1, 6))))
    return out[:count]


def broken_utf8(count, seed=2):
    """Byte strings of which most are no valid UTF-8."""
    r = random.Random(seed)
    out = [b"\xff", b"a\xc3", b"\xc3(", b"\xe2\x82", b"\xe2\x82x", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80\x80", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"]
    while len(out) < count:
        text = bytearray("".join(item(r) for _ in range(r.randrange(1, 4))).encode("utf-8", "replace"))
        for _ in range(r.randrange(1, 4)):
            if not text:
                break
            at = r.randrange(len(text))
            change = r.randrange(3)
            if change == 0:
                del text[at]
            elif change == 1:
                text[at] = r.randrange(256)
            else:
                text.insert(at, r.choice([0x80, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF]))
        out.append(bytes(text))
    return out
