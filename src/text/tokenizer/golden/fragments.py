"""Writes fragments.json: what strings.py puts its strings together from. Every text here is our own."""
import ctypes
import ctypes.util
import json
import os
import unicodedata

WORDS = """
the quick brown fox jumps over thirteen lazy dogs I'll we've they're can't it's she'd I'm don't I'LL WE'VE THEY'RE IT'S 's 't 're 've 'm 'll 'd
tokenizer Tokenizer TOKENIZER HTTPServer camelCaseWord snake_case_word kebab-case-word hello Hello HELLO world , . ! ? ; : ... … — – - _ ( ) [ ] { } < > / \\ | @ # $ % ^ & * + = ~ ` " '
naïve café résumé Zürich straße STRASSE Ærøskøbing smörgåsbord façade coöperate Ǆ ǅ ǆ İstanbul ılık ﬁne ﬂow ſ 'ſ K Å Ω
Москва книга привет мир Добрый день Київ їжак България ћуприја Ελλάδα θάλασσα λόγος ΣΊΣΥΦΟΣ Ὀδυσσεύς Հայաստան საქართველო
שלום עולם סֵפֶר بِسْمِ السلام عليكم كتاب ‎ ‏ خانه‌ها پارسی اردو नमस्ते दुनिया क्षत्रिय हिन्दी বাংলা ভাষা தமிழ் மொழி తెలుగు ಕನ್ನಡ മലയാളം සිංහල ไทย ภาษา สวัสดี ພາສາລາວ မြန်မာ ខ្មែរ བོད་ཡིག አማርኛ
你好 世界 这是一个句子 。 ， 「引用」 漢字 平仮名 ひらがな カタカナ ｶﾀｶﾅ ー 東京都 日本語のテキスト 한국어 안녕하세요 세계 각 한글 ｆｕｌｌｗｉｄｔｈ １２３ Ⅳ ④ ½ ² ₃ ٣ ४ 〇
Việt Nam tiếng Nguyễn Čeština žluťoučký kůň Łódź żółć magyar őrült Türkçe ğüş română țară latviešu ķirsis íslenska þökk Cymraeg ŵ Gàidhlig Malti ħ Esperanto ĉ ɐ ɪpʰ ʼ ʻ
do not n't a , b a . b " ' " x ' y ' z
""".split()

PHRASES = [
    "She sells sea shells by the shore.", "The answer is 42, not 41.9999.", "In 1969, two people walked on the moon!", "a , b . c ! d ? e ' f n't g 'm h 's i 've j 're",
    "Wie geht es Ihnen?", "¿Dónde está la biblioteca?", "Ça va très bien, merci.", "O rato roeu a rolha.", "Perché no?", "Быстрая рыжая лиса.", "今天天气很好。", "今日はいい天気ですね。",
    "오늘 날씨가 좋네요.", "الطقس جميل اليوم.", "आज मौसम अच्छा है।", "วันนี้อากาศดี", "Trời hôm nay đẹp.",
]
SPACE = [" ", "  ", "   ", "    ", "        ", "\n", "\n\n", "\n\n\n", "\r\n", "\r", "\t", "\t\t", " \n", "\n ", " \t ", "\u00a0", "\u2003", "\u3000", "\u2028", "\u2029", "\u0085", "\u200b", "\u200c", "\u200d", "\ufeff", "\u180e", "\u001c",
         "\u000b", "\u000c", "▁", " ▁", "▁▁", "\u00ad", "\u202f", "\u1680", "\x00", "\x01", "\x7f", "\x8f", "\ufffd", "\u0020\u0301"]
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "1️⃣", "❤️", "❤", "🧑🏿‍🚀", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "☺︎", "🤦🏼‍♂️", "👨‍💻", "🫠", "⌚", "©️", "™", "‼️", "🀄", "🏻"]
CODE = ["for (int i = 0; i < n; ++i) {\n  sum += x[i];\n}\n", "def f(x):\n    return x**2 + 1  # square\n", "<div class=\"a\">&nbsp;</div>", "https://example.org/a/b?c=1&d=%20#e", "user@example.com", "SELECT * FROM t WHERE a>=10;\r\n",
        "if (!p || *p++ == '\\0') return -1;", "\t\tprintf(\"%05.2f\\n\", x);", "C:\\path\\to\\file.txt", "0xDEADBEEF 1e-10 3.14159f 1_000_000", "#include <vector>\n\n\n", "// TO" + "KEN: a/b/c\n", "{\"k\": [1, 2.5, null, true]}", "λx.x→∀y∃z", "a+=b;c--;d&&e||!f",
        "<0x41>", "<0xE4>", "<unk>", "##ing", "</w>", "Ġ", "Ċ", "ĠĠ", "``quoted''", "<s>", "</s>", "$$$///\n", "/*\n * comment\n */", "===\n---\n"]
MARKS = ["e\u0301", "\u0301", "a\u0308\u0304", "o\u0323\u0302", "\u0302\u0323", "ậ", "q\u0307\u0323", "\u1100\u1161\u11a8", "\u1100\u1161", "각\u11a8", "\u0f71\u0f72", "\u0345", "ᾳ", "\u0344", "\u2126", "\u212b", "\ufb03", "ŉ", "ΐ", "\u0958", "\u09c7\u09be", "\u0b94",
         "\u304b\u3099", "が", "\ufdfa", "\u33a5", "㌀", "\u2460", "ǆ", "\u1e9b\u0323", "🅰", "𝔘", "𝟘", "\U0001d15e", "\u0cc6\u0cc2\u0cd5", "\u200d\u0301", "نّ", "שׁ"]


def ages():
    """Unicode's version of each assigned character, from ICU."""
    name = os.environ.get("ICU_UC", ctypes.util.find_library("icuuc"))
    library = ctypes.CDLL(name)
    major = name.rsplit(".", 1)[-1]
    char_age = getattr(library, f"u_charAge_{major}")
    version = (ctypes.c_uint8 * 4)()
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        char_age(c, version)
        yield c, version[0]


def main():
    # Ranges of the characters that every library involved knows, one range never of two categories.
    newest = 14
    by_category = {}
    for c, age in ages():
        category = unicodedata.category(chr(c))
        if age == 0 or age > newest or category in ("Cn", "Cs", "Co"):
            continue
        ranges = by_category.setdefault(category, [])
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    everything = sorted(r for ranges in by_category.values() for r in ranges)
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "fragments.json"), "w", encoding="utf-8") as file:
        json.dump({"words": WORDS + PHRASES, "space": SPACE, "emoji": EMOJI, "code": CODE, "marks": MARKS, "ranges": everything}, file, ensure_ascii=False, separators=(",", ":"))
    print({k: sum(b - a + 1 for a, b in v) for k, v in by_category.items()}, len(everything))


if __name__ == "__main__":
    main()
