"""Expressions and statements of our own, each rendered with VARIABLES. Grouped by what they look at."""

from snippets_statements import BLANKS, LINES, SCOPES, STATEMENTS, SYNTAX

VARIABLES = {
    "zero": 0, "one": 1, "n": 7, "neg": -3, "f": 2.5, "big": 9007199254740993, "t": True, "no": False, "nil": None,
    "s": "Hello World", "e": "", "u": "Größe Ωμέγα ß", "html": "<b>\"x\" & 'y'</b>", "ws": "  \t pad \n ", "multi": "one\ntwo\n\nthree\r\nfour",
    "emoji": "a😀b👩‍👩‍👧z", "list": [3, 1, 2], "words": ["pear", "Apple", "fig", "apple"], "empty": [], "nested": [[1, [2]], {"k": [None, True]}],
    "d": {"b": 1, "a": 2, "items": "own", "x y": 3, "keys": None}, "edict": {},
    "people": [{"name": "Ann", "age": 30, "tag": {"id": 2}}, {"name": "bob", "age": 25, "tag": {"id": 1}}, {"name": "Cy", "age": 30}],
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}, {"v": 5, "c": []}],
    "floats": [0.1, 1.0, 1e16, 1e-5, 123456789.125, -0.0, 1e22, 1.5e300], "path": "a/b c?d=é&x",
}

PRINTING = r"""
{{ zero }} {{ n }} {{ neg }} {{ f }} {{ t }} {{ no }} {{ nil }} {{ s }} {{ missing }}|
{{ list }} {{ nested }} {{ d }} {{ people }} {{ empty }} {{ edict }}
{{ floats }}
{{ [1.0, 2.50, 1e5, 1e-4, 0.00001, 123456789012345680.0, 1e15, 1e16, 3.14159] }}
{{ ["it's", 'say "hi"', 'both \' and "', "tab\there", "nl\n", "back\\slash", "é😀", "\x00\x1f\x7f\xa0\xad", "\u200b\u2028", "\ufeff"] }}
{{ (1,) }} {{ (1, 2) }} {{ () }} {{ (1) }} {{ 1, 2 }}
{{ {"a": 1, 2: "b", none: [], true: {}} }}
{{ {1: "a", true: "b", 1.0: "c"} }} {{ {"a": 1, "b": 2, "a": 3} }}
{{ none }} {{ None }} {{ true }} {{ True }} {{ false }} {{ False }}
{{ range(5) }} {{ range(1, 10, 3) }} {{ range(5)|list }} {{ range(5, 0, -2)|list }}
{{ d.keys() }} {{ d.values() }} {{ {"a": 1}.items() }}
{{ namespace(a=1, b="x") }}
{{ missing is defined }} {{ [missing] }} {{ {"a": missing} }}
{{ 1e3 }} {{ 1.5E-2 }} {{ 00 }}
{{ "a" "b" 'c' }} {{ "\u00e9\U0001f600\x41\101\t|" }} {{ 'a\qb' }} {{ "line\
cont" }}
{{ 'single \'quoted\'' }} {{ "double \"quoted\"" }}
{{ macro_missing }}{% macro m(a, b=2) %}x{% endmacro %}{{ m }}
{{ s|safe }} {{ [s|safe] }} {{ [html|e] }}
{{ -0.0 }} {{ 0.0 }} {{ 1e400 }} {{ -1e400 }} {{ 1e400 - 1e400 }}
{{ 9223372036854775807 }} {{ -9223372036854775807 }} {{ big }}
"""

ARITHMETIC = r"""
{{ 1 + 2 * 3 - 4 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }}
{{ 7 / 2 }} {{ 6 / 2 }} {{ 1 / 3 }}
{{ 10 - 3 - 2 }} {{ 100 / 10 / 5 }}
{{ 1 + true }} {{ true + true }} {{ -true }} {{ 1.0 + 1 }} {{ 3 * 1.5 }}
{{ "a" * 3 }} {{ 3 * "ab" }} {{ [1, 2] * 2 }} {{ (1,) * 3 }} {{ "x" * 0 }} {{ "x" * -1 }}
{{ "a" + "b" }} {{ [1] + [2] }} {{ (1,) + (2,) }}
{{ 1 ~ 2 ~ "x" ~ none ~ missing ~ [1] }} {{ "a" ~ 1 + 2 }}
{{ 1 + "a" }}
{{ "a" + 1 }}
{{ [1] + (2,) }}
{{ none + 1 }}
{{ "a" * "b" }}
{{ [] - [] }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1.0 / 0 }}
{{ -none }}
{{ -"a" }}
{{ missing + 1 }}
{{ 1 + missing }}
{{ "a" + missing }}
{{ -missing }}
{{ missing * 2 }}
{{ 1 if }}
{{ 5 - -3 }} {{ - - 5 }} {{ not not 1 }} {{ not 1 == 2 }}
{{ 0.1 + 0.2 }} {{ 1e16 + 1 }} {{ 3.0 }} {{ 1e2 }}
"""

COMPARISON = r"""
{{ 18446744073709551615 }}
{{ [123456789012345678901234567890, {'n': 18446744073709551615}] }} {{ {'n': 18446744073709551615}|tojson }}
{{ 18446744073709551615 is integer }} {{ 18446744073709551615 is number }} {{ 18446744073709551615 is float }} {{ 18446744073709551615 is string }}
{{ 18446744073709551615|string|length }} {{ 18446744073709551615|int }}
{{ 18446744073709551616 == 18446744073709551615 }} {{ 18446744073709551615 == 18446744073709551615 }} {{ 18446744073709551615 == 1 }} {{ 18446744073709551615 == 's' }}
{{ 'yes' if 18446744073709551615 else 'no' }} {{ 18446744073709551615 in [18446744073709551615] }} {{ {18446744073709551616: 'a'}[18446744073709551616] }}
{{ 18446744073709551615.x is defined }}
{{ 1 < 2 }} {{ 1 < 2 < 3 }} {{ 1 < 2 > 1 }} {{ 3 > 2 > 2 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ "a" < "b" }} {{ "Z" < "a" }} {{ [1, 2] < [1, 3] }}
{{ [1] == [1.0] }} {{ (1,) == [1] }} {{ {"a": 1} == {"a": 1.0} }} {{ none == none }} {{ none == false }} {{ "1" == 1 }}
{{ missing == missing }} {{ missing == none }} {{ missing != 1 }}
{{ big == 9007199254740992.0 }} {{ big > 9007199254740992.0 }}
{{ 1 in [1, 2] }} {{ "a" in "cat" }} {{ "" in "x" }} {{ "a" in d }} {{ "z" not in d }} {{ 2 in (1, 2) }} {{ 3 in range(5) }} {{ 1 in missing }}
{{ "b" in d.keys() }} {{ 1 in d.values() }} {{ ("a", 2) in d.items() }} {{ none in [none] }} {{ not 1 in [2] }} {{ 1 not in [2] in [[2]] }}
{{ 1 < "a" }}
{{ [1] < 1 }}
{{ none < 1 }}
{{ missing < 1 }}
{{ 1 >= missing }}
{{ 1 in "abc" }}
{{ 1 in 5 }}
{{ [] in {} }}
{{ 1 and 2 }} {{ 0 and 2 }} {{ 0 or 3 }} {{ "" or "d" }} {{ none or missing or 0 }} {{ 1 or 1/0 }} {{ 0 and 1/0 }}
{{ not empty }} {{ not list }} {{ not missing }} {{ not none }} {{ not 0.0 }} {{ not "0" }} {{ not edict }} {{ not range(0) }}
{{ "yes" if t else "no" }} {{ "yes" if no else "no" }} {{ "yes" if no }}| {{ 1 if 0 else 2 if 0 else 3 }} {{ ("a" if t) ~ "b" }}
{{ ("x" if no).y }}
{{ true is true }} {{ 1 is true }} {{ 1.0 is float }} {{ n is integer }} {{ t is integer }} {{ t is number }} {{ f is number }} {{ s is number }}
{{ s is string }} {{ list is iterable }} {{ s is iterable }} {{ d is mapping }} {{ list is sequence }} {{ d is sequence }} {{ s is sequence }} {{ n is sequence }} {{ n is iterable }}
{{ nil is none }} {{ missing is none }} {{ missing is undefined }} {{ nil is defined }} {{ d.zzz is defined }} {{ d.a is defined }} {{ missing is iterable }} {{ missing is sequence }}
{{ t is boolean }} {{ n is boolean }} {{ no is false }} {{ zero is false }}
{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }}
{{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is gt 2 }} {{ 1 is le 1 }} {{ 1 is ge 2 }} {{ 1 is equalto 1 }} {{ 1 is greaterthan 0 }} {{ 1 is lessthan(0) }} {{ 1 is sameas 1 }}
{{ 1 is in [1, 2] }} {{ 3 is not in [1, 2] }}
{{ s is not string }} {{ not s is string }} {{ s is string and n is number }} {{ n is none or n }}
{{ n is nosuchtest }}
{{ n|nosuchfilter }}
{% if no %}{{ n|nosuchfilter }}{% endif %}ok
{% if t %}{{ n|nosuchfilter }}{% endif %}
{{ n|nosuchfilter if no else 1 }}
{% if no %}{% for x in list %}{{ x|nosuchfilter }}{% endfor %}{% endif %}
{{ missing is odd }}
{{ 1 is odd(2) }}
{{ 1 is eq }}
{{ 1 is eq(1, 2) }}
{{ 1|string(2) }}
{{ list|length(2) }}
{{ s|upper(1) }}
{{ list in d.keys() }}
{{ {d.items(): 1} }}
{{ missing|round(1, "floor") }}
{{ s|select("nope", 1)|list }}
{{ s is odd }}
"""

ACCESS = r"""
{{ d.a }} {{ d["a"] }} {{ d["x y"] }} {{ d["items"] }} {{ d["keys"] }} {{ d.get("a") }} {{ d.get("q") }} {{ d.get("q", 5) }}
{{ list[0] }} {{ list[-1] }} {{ list.0 }} {{ s[0] }} {{ s[-1] }} {{ u[4] }} {{ emoji[1] }} {{ (1, 2)[1] }} {{ range(10)[3] }}
{{ list[10] }}| {{ s[99] }}| {{ d.zzz }}| {{ d["zzz"] }}| {{ n.zzz }}| {{ nil.zzz }}|
{{ s[1:4] }} {{ s[:3] }} {{ s[-3:] }} {{ s[::-1] }} {{ s[::2] }} {{ s[5:1] }} {{ s[10:0:-3] }} {{ u[1:6] }} {{ emoji[::-1] }} {{ s[100:] }}| {{ s[-100:2] }}
{{ list[1:] }} {{ list[:-1] }} {{ list[::-1] }} {{ (1, 2, 3)[:2] }} {{ range(10)[2:8:2]|list }} {{ list[:] }} {{ list[0:none] }} {{ s[true:] }}
{{ list[::0] }}
{{ list["a"] }}| {{ s["upper"]() }} {{ d[list] }}| {{ list[1.0] }}|
{{ d[1:2] }}
{{ nil[1:] }}
{{ missing[1:] }}
{{ list["a":] }}
{{ missing.x }}
{{ missing["x"] }}
{{ missing() }}
{{ d.zzz.y }}
{{ d.zzz["y"] }}
{{ nil.x.y }}
{{ list[10].x }}
{{ s.x.y }}
{{ list.a.b }}
{{ n.a.b }}
{{ d["q r"].x }}
{{ d[5].x }}
{{ people[0].name }} {{ people[0]["tag"].id }} {{ people[2].tag }}|
{{ people[2].tag.id }}
{{ d.nope() }}
{{ list() }}
{{ n() }}
{{ list.append(1) }}
{{ d.update({}) }}
{{ d.pop("a") }}
{{ list.append }}|
{{ list.sort() }}
{{ s.__class__ }}|
{{ s.__class__.__mro__ }}
{{ list["append"] }}|
{{ list.index(1) }} {{ list.count(3) }} {{ (1, 1).count(1) }} {{ range(5).index(3) }}
{{ list.index(99) }}
{{ {"a": {"b": {"c": 1}}}.a.b.c }} {{ [[1, 2], [3]][0][1] }}
{{ namespace(x=1).x }} {{ namespace({"y": 2}).y }} {{ namespace(x=1)["x"] }}| {{ namespace().q }}|
{{ namespace().q.r }}
{{ dict(a=1, b=2) }} {{ dict([("x", 1), ["y", 2]]) }} {{ dict({"a": 1}, a=2) }} {{ dict() }}
{{ dict(1) }}
{{ dict([1]) }}
{{ dict([(1, 2, 3)]) }}
{{ range() }}
{{ range("a") }}
{{ range(1, 2, 0) }}
{{ range(1000000)|length }}
{{ d["a", "b"] }}|
{{ list[1,] }}
"""

METHODS = r"""
{{ ws.strip() }}|{{ ws.lstrip() }}|{{ ws.rstrip() }}| {{ "xxaxx".strip("x") }} {{ "abcab".strip("ab") }} {{ "xyz".strip(none) }} {{ "éaé".strip("é") }}
{{ s.split() }} {{ "a,b,,c".split(",") }} {{ "a b  c ".split(" ") }} {{ "a b c".split(" ", 1) }} {{ "a b c".rsplit(" ", 1) }} {{ "".split() }} {{ "".split(",") }} {{ "  x  y z ".split(none, 1) }} {{ " a b c ".rsplit(none, 1) }} {{ "a</think>b</think>c".split("</think>")[-1] }}
{{ multi.splitlines() }} {{ multi.splitlines(true) }} {{ "a\x0bb\x1cc\u2028d".splitlines() }} {{ "".splitlines() }} {{ "x\n".splitlines() }}
{{ s.upper() }} {{ s.lower() }} {{ u.upper() }} {{ u.lower() }} {{ "hello world".title() }} {{ "they're BILL's".title() }} {{ "hELLO".capitalize() }} {{ "ßa".capitalize() }} {{ "ΑΣ ΑΣΑ".lower() }} {{ "ΑΣ".capitalize() }} {{ "ǆx".title() }} {{ "ΟΔΟΣ ΟΔΟΣ".title() }}
{{ s.startswith("Hello") }} {{ s.startswith(("x", "H")) }} {{ s.endswith("ld") }} {{ s.startswith("World", 6) }} {{ s.endswith("Hello", 0, 5) }} {{ s.startswith("") }} {{ s.startswith("", 99) }}
{{ s.replace("l", "L") }} {{ s.replace("l", "L", 1) }} {{ "aaa".replace("a", "b", 2) }} {{ "ab".replace("", "-") }} {{ "ab".replace("", "-", 2) }} {{ "".replace("", "x") }}
{{ ",".join(["a", "b"]) }} {{ "".join("abc") }} {{ "-".join(d) }}
{{ s.find("o") }} {{ s.find("o", 5) }} {{ s.find("zz") }} {{ s.rfind("o") }} {{ u.find("Ω") }} {{ s.index("W") }} {{ s.count("l") }} {{ s.count("") }} {{ "aaaa".count("aa") }} {{ s.find("l", -3) }} {{ s.count("o", 5, 9) }} {{ s.rindex("l") }}
{{ s.index("zz") }}
{{ "a=b=c".partition("=") }} {{ "a=b=c".rpartition("=") }} {{ "abc".partition("=") }} {{ "abc".rpartition("=") }}
{{ "prefix-x".removeprefix("prefix-") }} {{ "x.txt".removesuffix(".txt") }} {{ "x".removeprefix("y") }} {{ "x".removesuffix("") }}
{{ "12".isdigit() }} {{ "1²".isdigit() }} {{ "ab".isalpha() }} {{ "a1".isalnum() }} {{ " \t".isspace() }} {{ "".isdigit() }} {{ "é".isalpha() }} {{ "漢".isalpha() }}
{{ "{} and {}".format(1, "b") }} {{ "{1}{0}".format("a", "b") }} {{ "{{}}".format() }}
{{ "{:d}|{:d}|{}".format(42, true, 1.5) }} {{ "<|image_{i:d}|>".format(i=3) }} {{ "{x}|{y}|{x:d}".format(x=1, y="z") }} {{ "{0}{0:d}".format(-7) }} {{ "a{{b}}{}c".format("") }}
{{ "{}".format() }}
{{ "{x}".format() }}
{{ "{".format(1) }}
{{ "}".format(1) }}
{{ "{:d}".format("a") }}
{{ "{0} {}".format(1) }}
{{ "{}".format(none) }} {{ "{}".format([1, "a"]) }} {{ "{:}".format(1) }}
{{ "%s and %s" % ("a", 1) }} {{ "%s" % "x" }} {{ "%d%%" % 5 }} {{ "%r" % "q" }} {{ "%s" % none }} {{ "%s" % [1] }} {{ "%i|%d" % (7, true) }} {{ "100%%" % () }} {{ "%s" % ("<b>"|safe) }} {{ ("%s %r %%"|safe) % ("<", "<") }}
{{ "%s %s" % "a" }}
{{ "%s" % ("a", "b") }}
{{ "%d" % "a" }}
{{ "abc" % 1 }}
{{ "%" % 1 }}
{{ "abc" % missing }}| {{ "%s" % missing }}|
{{ "a".split("") }}
{{ "a".join([1]) }}
{{ "a".join(1) }}
{{ "a".replace("b") }}
{{ "a".nope() }}
{{ "a".upper(1) }}
{{ "a".startswith(1) }}
{{ "a".strip(1) }}
"""

FILTERS = r"""
{{ ws|trim }}| {{ "xxaxx"|trim("x") }} {{ nil|trim }} {{ 5|trim }} {{ s|upper }} {{ s|lower }} {{ "hello wORLD foo-bar (baz"|title }} {{ "hELLO"|capitalize }} {{ nil|upper }} {{ missing|upper }}|
{{ list|length }} {{ s|length }} {{ d|count }} {{ emoji|length }} {{ missing|length }} {{ range(7)|length }} {{ d.items()|length }}
{{ n|length }}
{{ list|map("string")|length }}
{{ list|first }} {{ list|last }} {{ s|first }} {{ s|last }} {{ d|first }} {{ d|last }} {{ empty|first }}| {{ empty|last }}| {{ e|first }}| {{ d.values()|last }}
{{ empty|first.x }}
{{ (empty|first).x }}
{{ n|first }}
{{ list|map("string")|last }}
{{ list|join }} {{ list|join(", ") }} {{ people|join(", ", attribute="name") }} {{ s|join("-") }} {{ [1, none, missing, "a"]|join("|") }} {{ missing|join }}| {{ d|join(",") }} {{ list|join(1) }}
{{ n|join }}
{{ 0.5|round }} {{ 1.5|round }} {{ 1e300|round(2) }} {{ 5e-324|round(3) }}
{% set m = {0: "a", 1: "b", 2: "c", 3: "d", 4: "e", 5: "f", 6: "g", 7: "h", 8: "i", 9: "j", 10: "k", 11: "l", 12: "m", 13: "n", 14: "o", 15: "p", 16: "q"} %}{{ m[3.0] }}{{ m[true] }}{{ m[16.0] }}{{ m[3.5] }}{{ 2.0 in m }}{{ m|length }}
{{ s|trim("x", chars="y") }}
{{ s|default("a", default_value="b") }}
{{ [1, 2, 1].index(1, -1) }} {{ [1, 2, 1].index(2, -3, -1) }}
{{ [1, 2, 1].index(1, -2, -1) }}
{{ dict(a=0, b=1, c=2, d=3, e=4, f=5, g=6, h=7, i=8, j=9, k=10, l=11, m=12, n=13, o=14, p=15, q=16, r=17)["a"] }} {% set long = dict(a=0, b=1, c=2, d=3, e=4, f=5, g=6, h=7, i=8, j=9, k=10, l=11, m=12, n=13, o=14, p=15, q=16, r=17) %}{% for k in long %}{{ long[k] }}{{ long.get(k) == long[k] }}{{ k in long }}{% endfor %}{{ long.zz }}{{ dict(long, a=9, zz=1)|length }}
{{ s|replace("l", old="x") }}
{{ s.find("o", -5, -1) }} {{ s.count("l", -100, 100) }} {{ s.find("", 11) }} {{ s.find("", 12) }} {{ s.rfind("o", 0, -4) }} {{ s.startswith("o", -4) }} {{ "aXbX".rsplit("X", 1) }} {{ "aXbX".split("X", 0) }}
{{ {"a": 1, 2.0: 2, true: 3}[2] }} {{ {1: "x"}[true] }} {{ {0: "x"}[false] }} {{ {1.5: "h"}[1.5] }} {{ {none: "n"}[none] }} {{ {(1, "a"): "t"}[(1.0, "a")] }}
{{ list|sort }} {{ words|sort }} {{ words|sort(case_sensitive=true) }} {{ words|sort(reverse=true) }} {{ people|sort(attribute="age")|map(attribute="name")|join(",") }} {{ people|sort(attribute="age,name")|map(attribute="name")|list }} {{ people|sort(true, attribute="age")|map(attribute="name")|list }} {{ s|sort }} {{ d|sort }}
{{ [1, "a"]|sort }}
{{ [none, 1]|sort }}
{{ d|dictsort }} {{ d|dictsort(by="value", reverse=true) if no }} {{ {"B": 1, "a": 2}|dictsort }} {{ {"B": 1, "a": 2}|dictsort(true) }} {{ {"x": 2, "y": 1}|dictsort(by="value") }} {{ {"x": 2, "y": 1}|dictsort(reverse=true) }}
{{ d|dictsort(by="z") }}
{{ list|dictsort }}
{{ list|reverse|list }} {{ s|reverse }} {{ u|reverse }} {{ d|reverse|list }} {{ range(3)|reverse|list }} {{ (1, 2)|reverse|list }}
{{ n|reverse }}
{{ "t" if empty|reverse }} {{ "t" if missing|reverse }} {{ "t" if empty|map("upper") }} {{ missing|reverse|list }}
{{ words|unique|list }} {{ words|unique(true)|list }} {{ people|unique(attribute="age")|map(attribute="name")|list }} {{ [1, 1.0, true, "1"]|unique|list }}
{{ nested|unique|list }}
{{ people|map(attribute="name")|list }} {{ people|map(attribute="tag.id", default="?")|list }} {{ words|map("upper")|list }} {{ words|map("replace", "p", "P")|list }} {{ [[1, 2], [3]]|map("first")|list }} {{ people|map(attribute="tag")|list }} {{ [[1, 2], [3, 4]]|map(attribute=1)|list }} {{ [[1, 2]]|map(attribute="0")|list }} {{ missing|map("upper")|list }}
{{ people|map(attribute="tag.id")|list }}
{{ words|map|list }}
{{ words|map("nope")|list }}
{{ words|map(attribute="x", foo=1)|list }}
{{ list|map("upper") is iterable }} {{ list|map("upper") is sequence }} {{ list|map("upper") is string }}
{{ list|select("odd")|list }} {{ list|reject("odd")|list }} {{ [0, 1, "", "a", none]|select|list }} {{ [0, 1]|reject|list }} {{ list|select("gt", 1)|list }} {{ words|select("in", ["fig"])|list }} {{ list|select("equalto", 2)|first }}
{{ people|selectattr("age", "equalto", 30)|map(attribute="name")|list }} {{ people|rejectattr("age", "eq", 30)|map(attribute="name")|list }} {{ people|selectattr("tag")|list|length }} {{ people|selectattr("tag", "defined")|list|length }} {{ people|selectattr("tag.id", "undefined") if no }} {{ people|rejectattr("tag")|map(attribute="name")|first }}
{{ people|selectattr|list }}
{{ people|selectattr("age", "nope")|list }}
{{ list|select("nope")|list }}
{{ list|sum }} {{ floats[:2]|sum }} {{ people|sum(attribute="age") }} {{ list|sum(start=10) }} {{ empty|sum }} {{ [[1], [2]]|sum(start=[]) }}
{{ ["a"]|sum }}
{{ list|min }} {{ list|max }} {{ words|min }} {{ words|max }} {{ words|max(case_sensitive=true) }} {{ people|max(attribute="age") }} {{ people|min(attribute="age") }} {{ empty|max }}| {{ s|max }}
{{ [1, "a"]|max }}
{{ "3"|int }} {{ "3.9"|int }} {{ "x"|int }} {{ "x"|int(5) }} {{ 3.9|int }} {{ -3.9|int }} {{ true|int }} {{ nil|int }} {{ " 7 "|int }} {{ "1_0"|int }} {{ "1e3"|int }} {{ [1]|int }} {{ ""|int(default=9) }} {{ "-12"|int }} {{ "010"|int }} {{ "inf"|int }} {{ "7"|int(0, 10) }} {{ "010"|int }} {{ "inf"|int }}
{{ "3.5"|float }} {{ "x"|float }} {{ "x"|float(1.5) }} {{ 3|float }} {{ nil|float }} {{ "inf"|float }} {{ "nan"|float }} {{ " 1e3 "|float }} {{ "1_0.5"|float }} {{ ".5"|float }} {{ "5."|float }}
{{ missing|int }}
{{ missing|float }}
{{ -5|abs }} {{ (-5)|abs }} {{ (-2.5)|abs }} {{ true|abs }}
{{ s|abs }}
{{ missing|abs }}
{{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ 2.1|round(0, "ceil") }} {{ 2.9|round(method="floor") }} {{ 42|round }} {{ 2.675|round(2) }} {{ -0.4|round }} {{ 2.345|round(1, "ceil") }}
{{ 2.5|round(method="x") }}
{{ s|round }}
{{ missing|default("d") }} {{ nil|default("d") }} {{ nil|default("d", true) }} {{ e|default("d", boolean=true) }} {{ d.q|default(d.a) }} {{ missing|d }}| {{ zero|d("x") }} {{ missing|default(value) }}|
{{ s|replace("l", "L") }} {{ s|replace("l", "L", 1) }} {{ 123|replace(2, 9) }} {{ s|replace("l", "") }}
{{ s|replace("l") }}
{{ html|e }} {{ html|escape }} {{ html|e|e }} {{ html|safe }} {{ html|safe|e }} {{ 5|e }} {{ none|e }}
{{ ("<a>"|safe) + "<b>" }} {{ "<b>" + ("<a>"|safe) }} {{ ("<a>"|safe) ~ "<b>" }} {{ ("%s"|safe) % "<b>" }} {{ ("<a>"|safe) * 2 }} {{ ("<a>"|safe).upper() + "<" }} {{ ("{}"|safe).format("<") }} {{ ("-"|safe).join(["<", "a"|safe]) }} {{ ("<a>"|safe)[0] + "<" }} {{ ("a<b"|safe).replace("a", "<") }} {{ ["<a>"|safe, "<b>"]|join }} {{ ("x"|safe)|upper + "<" }} {{ ("x"|safe)|string + "<" }} {{ ("a b"|safe).split()[0] + "<" }} {{ ("x"|safe|trim) + "<" }} {{ ("x"|safe|replace("x", "y")) + "<" }}
{{ multi|indent }} {{ multi|indent(2, true) }} {{ multi|indent(2, blank=true) }} {{ multi|indent("> ") }} {{ ""|indent }}| {{ "a\n"|indent }}| {{ s|indent(first=true) }}
{{ nil|indent }}
{{ "%s - %d"|format("a", 1) }} {{ "%s"|format("x") }} {{ 5|format }}
{{ d|items|list }} {% for k, v in d|items %}{{ k }}={{ v }};{% endfor %} {{ missing|items|list }}
{{ list|items|list }}
{{ list|string }} {{ nil|string }} {{ 5|string + "x" }}
{{ list|list }} {{ s[:3]|list }} {{ d|list }} {{ missing|list }}
{{ 5|list }}
{{ d|tojson }} {{ nested|tojson }} {{ u|tojson }} {{ html|tojson }} {{ floats|tojson }} {{ (1, 2)|tojson }} {{ "\u0000\u001f\u007f\u2028\"\\/\b\f"|tojson }} {{ {1: 1, none: 2, true: 3, 1.5: 4}|tojson }} {{ s|safe|tojson }} {{ e|tojson }}
{{ d|tojson(indent=2) }} {{ nested|tojson(indent=4) }} {{ empty|tojson(indent=2) }} {{ edict|tojson(indent=2) }} {{ d|tojson(indent=0) }} {{ d|tojson(indent="--") }} {{ [1, [2]]|tojson(indent=1) }}
{{ d|tojson(sort_keys=true) }} {{ u|tojson(ensure_ascii=true) }} {{ emoji|tojson(ensure_ascii=true) }} {{ d|tojson(separators=(",", ":")) }} {{ d|tojson(separators=(";", "="), indent=1) }} {{ u|tojson(true) }}
{{ missing|tojson }}
{{ [missing]|tojson }}
{{ {(1, 2): 1}|tojson }}
{{ range(3)|tojson }}
{{ namespace()|tojson }}
{{ list|map("upper")|tojson }}
{{ s|upper|lower|title|replace("World", "x")|trim }} {{ s|replace("o", "0")|upper ~ "!" }} {{ -1|abs }} {{ 2 + 3|string|length }}
{{ s|upper() }} {{ s | upper }} {{ s|default("x")|upper }}
{{ list|first|string ~ "x" }} {{ list[0]|string|int + 1 }}
"""


def snippets():
    for group in (PRINTING, ARITHMETIC, COMPARISON, ACCESS, METHODS, FILTERS, STATEMENTS, SCOPES, SYNTAX):
        lines, joined = group.strip("\n").split("\n"), ""
        for line in lines:
            joined += line
            if line.endswith("\\"):  # a literal that goes on in the next line
                joined += "\n"
                continue
            yield joined
            joined = ""
    yield from BLANKS
    yield from LINES
