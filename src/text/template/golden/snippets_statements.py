"""Statements, blanks, scopes, and what is refused, for snippets.py."""

STATEMENTS = r"""
{% for x in list %}{{ x }},{% endfor %}
{% for x in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{% endfor %}
{% for x in list %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }}
{% for x in list %}{{ loop.previtem.y }}{% endfor %}
{% for x in list if x > 1 %}{{ x }}:{{ loop.index }}/{{ loop.length }} {% else %}none{% endfor %}
{% for x in list if x > 9 %}{{ x }}{% else %}none{% endfor %}
{% for x in empty %}{{ x }}{% else %}nothing{% endfor %}|{% for x in missing %}x{% else %}undefined{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %} {% for k in d %}{{ k }}{% endfor %} {% for c in "añ😀" %}[{{ c }}]{% endfor %}
{% for a, (b, c) in [(1, (2, 3)), [4, [5, 6]]] %}{{ a }}{{ b }}{{ c }} {% endfor %}
{% for a, b in [1] %}{{ a }}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}
{% for a, b in [(1,)] %}{{ a }}{% endfor %}
{% for x in n %}{{ x }}{% endfor %}
{% for x in nil %}{{ x }}{% endfor %}
{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}
{% for x in [1, 2] %}{% for y in [1, 2] %}{% if y == 2 %}{% break %}{% endif %}{{ x }}{{ y }} {{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}
{% for x in range(3) %}{% break %}{% else %}else{% endfor %}|{% for x in range(3) %}{% continue %}{% else %}else{% endfor %}|
{% for x in range(3) %}{% if x == 1 %}{% break %}{% endif %}{% else %}else{% endfor %}|
{% for x in list %}{% set y = x %}{% endfor %}{{ y }}| {% set y = 0 %}{% for x in list %}{% set y = y + x %}{{ y }} {% endfor %}{{ y }}
{% set ns = namespace(total=0, seen=[]) %}{% for x in list %}{% set ns.total = ns.total + x %}{% set ns.seen = ns.seen + [x] %}{% endfor %}{{ ns.total }} {{ ns.seen }}
{% set ns = namespace() %}{% set ns.x = 1 %}{% set ns.y, z = 2, 3 %}{{ ns.x }}{{ ns.y }}{{ z }}
{% set q.x = 1 %}
{% set d.x = 1 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }} {% set c = 1, 2 %}{{ c }} {% set (p, q) = [3, 4] %}{{ p }}{{ q }}
{% set a, b = 1 %}
{% set a, b = 1, 2, 3 %}
{% set x %}body {{ n }}{% endset %}[{{ x }}] {% set y | upper | replace("B", "C") %}abc{% endset %}{{ y }}
{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }} {% set x = x + 1 %}{{ x }}
{% set s = s ~ "!" %}{{ s }} {% set list = list + [9] %}{{ list }}
{% if zero %}a{% elif n %}b{% else %}c{% endif %} {% if zero %}a{% elif nil %}b{% else %}c{% endif %} {% if t %}{% if no %}x{% else %}y{% endif %}{% endif %}
{% macro f(a, b=2, c="x") %}({{ a }},{{ b }},{{ c }}){% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(1, c="y") }}{{ f(b=1, a=2) }}{{ f() }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2, 3, x=4) }} {{ f() }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a.x }}{% endmacro %}{{ f() }}
{% macro f(a, b=a * 2) %}{{ a }}{{ b }}{% endmacro %}{{ f(4) }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}
{% macro f() %}{{ caller() }}-{{ caller() }}{% endmacro %}{% call f() %}<{{ n }}>{% endcall %}
{% macro f(x) %}{{ caller(x, x + 1) }}{% endmacro %}{% call(a, b=9) f(1) %}{{ a }}{{ b }}{% endcall %}
{% macro f() %}x{% endmacro %}{% call f() %}y{% endcall %}
{% macro f() %}[{{ caller }}]{% endmacro %}{{ f() }}
{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}
{% call n %}x{% endcall %}
{% macro f(a, caller=none) %}{{ a }}{{ caller() if caller else "-" }}{% endmacro %}{{ f(1) }}{% call f(2) %}x{% endcall %}
{% macro f() %}{{ caller() }}{% endmacro %}{{ f(caller=none) }}
{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}{{ f(caller=none) }}{{ f(caller=1) }}
{% set x = "outer" %}{% for x in list if x > 1 %}{{ x }}{% endfor %}{{ x }} {% for z in list if z > 9 %}{% endfor %}[{{ z }}]{% for z in list if z > 1 %}{% else %}{% endfor %}[{{ z }}]
{{ "\x7f\x80"|tojson(true) }}
{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ f() }}
{% macro f() %}{% set inner = 5 %}{{ inner }}{% endmacro %}{{ f() }}{{ inner }}|
{% macro f() %}  padded  {% endmacro %}[{{ f() | trim }}] {{ f()|length }}
{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}o{% endmacro %}{{ outer() }}
{% filter upper %}abc {{ s }}{% endfilter %} {% filter replace("a", "b") | upper %}banana{% endfilter %} {% filter trim %}  x  {% endfilter %}
{% raw %}{{ not }} {% even %} {# this #}{% endraw %} {%- raw -%}  {{ x }}  {%- endraw -%}  y
{# comment #}a{#- strip -#} b {#+ keep +#} c
{% generation %}said {{ n }}{% endgeneration %}|{% for x in list %}{% generation %}{{ x }}{% endgeneration %}{% endfor %}
{% for n in tree %}{{ loop(n.c) }}{% endfor %}
{% for x in list|map("string") %}{{ x }}{{ "," if not loop.last }}{% endfor %} {% for x in list|select("odd") %}{{ loop.index }}/{{ loop.length }} {{ loop.revindex }};{% endfor %}
{% set g = list|map("string") %}{{ g|join }}{{ g|join }}| {% set g = d|items %}{% for k, v in g %}{{ k }}{% endfor %}{% for k, v in g %}{{ k }}{% endfor %}
{% for x in list %}{{ loop }}{% endfor %}
{{ loop }}| {% for x in list %}{% endfor %}{{ loop is defined }}
{% for x in [[1, 2], [3]] %}{% set outer = loop %}{% for y in x %}{{ outer.index }}.{{ loop.index }} {% endfor %}{% endfor %}
{% for x in list %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}
{% if missing %}a{% endif %}{% if missing is defined and missing.x %}b{% endif %}{% if d.q %}c{% endif %}ok
{{ raise_exception("Bad \"thing\" happened: " ~ n) }}
{% if n > 3 %}{{ raise_exception("multi\nline") }}{% endif %}
{{ raise_exception(missing) }}
{{ raise_exception() }}
{{ strftime_now("%Y-%m-%d %d %b %Y %A %B %H:%M:%S %j %U %p %I %% %y") }} {{ strftime_now("%f|%z|%Z|") }} {{ strftime_now("") }}|
{{ strftime_now(5) }}
{{ s.split(" ")[0] ~ "/" ~ (s.split(" ")|last) }} {{ (s|upper)[:3] }} {{ [1, 2, 3][::-1][0] }} {{ {"a": [1, {"b": "c"}]}["a"][1].b|upper }}
{{ dict(*[[("x", 1)]]) }} {{ "{} {}".format(*[1, 2]) }}
{% for x in range(3) %}{{ loop.index }}{% if not loop.last %}, {% endif %}{% endfor %}.
{% for m in people if m.age > 26 and m.tag is defined %}{{ m.name }}{% endfor %}
{% set x = namespace(v=[]) %}{% for p in people %}{% set x.v = x.v + [p.name ~ loop.index] %}{% endfor %}{{ x.v|join(",") }}
{% set content = people[0].name if people[0].name is string else "" %}{{ content }}
{{ (1, 2) == (1, 2) and "eq" }} {{ [] is none }} {{ "" is defined }} {{ people|length > 2 }} {{ people[-1].name }} {{ people[1:]|map(attribute="name")|join(" & ") }}
{% set ns = namespace(found=false) %}{% for p in people|reverse %}{% if not ns.found and p.age == 30 %}{% set ns.found = true %}{{ p.name }}{% endif %}{% endfor %}
"""

BLANKS = [
    "a\n", "a\n\n", "\n", "", "a\r\nb\rc\n", "  {% if t %}\n  x\n  {% endif %}\n  y", "{% if t %}\nx{% endif %}\n\nz", "a  {%- if t %}  b  {%- endif %}  c",
    "a  {%- if t -%}  b  {%- endif -%}  c", "  {%+ if t %}x{% endif %}", "{% if t +%}\nx{% endif +%}\ny", "  {{ n }}  \n  {{- n -}}  \n x", "a\n    {# c #}\n  b",
    "a\n    {#- c -#}\n  b", "  {# c #} x", "a {# multi\nline #}\nb", "{% for x in list %}\n  {{ x }}\n{% endfor %}\nend", "{% for x in list -%}\n  {{ x }}\n{%- endfor %}\nend",
    "x\n\t {% set a = 1 %}\t\n y", "{{ '{{' }} {{ '%}' }} {{ \"}}\" }}", "{% if t %}{{ {'a': {'b': 1}} }}{% endif %}", "{ {{ n }} } {%", "{{ n }", "{{ n", "{% if", "{# open",
    "{% raw %}x", "a{#", "a{#-", "a{% raw %}", "a {%- raw -%} ", "{{ n }}}", "{{{n: 1}}}", "{{ {1: {2: 3}}[1][2] }}", "{%- if t -%}\n\n x \n\n{%- endif -%}\n", "\n\n  {%- set x = 1 -%}\n\n  {{- x }}", "{% raw %}\n  x\n{% endraw %}\ny",
    "  {% raw %}  x  {% endraw %}  y", "  {%- raw -%}  x  {%- endraw -%}  y", "{% raw -%}  x  {% endraw +%}\ny", "a\n  {%+ raw %}x{% endraw %}", "{#+ a +#}\nb", "\u00a0{%- if t %}\u2003x{%- endif %}",
    "{%if t%}x{%endif%}", "{%-if t-%}x{%-endif-%}", "{{n}}{{-n-}}", "{{ -n }} {{- -n }} {{+n}} {{ n -}} x", "{% if t: %}x{% endif %}", "{% if n == 7 %}seven{% endif %}{% if n != 7 %}no{% endif %}",
]

# Which variable a name means. The last ones are random.
SCOPES = r"""
{%- macro head() %}Date: {{ s }}{% endmacro %}{%- for p in people %}{{ head() }}|{% endfor %}{%- set s = 'later' %}{{ head() }}
{{ n }}{% set n = 2 %}{{ n }}
{% set n = n + 1 %}{{ n }} {% set n = n + 1 %}{{ n }}
{% set e %}{{ s }}{% endset %}{% set s = e %}{{ s }}
{% for x in list %}{{ n }}{% endfor %}{% set n = 2 %}{{ n }}
{% for x in list %}{{ n }}{% endfor %}{% if t %}{% set n = 2 %}{% endif %}{{ n }}
{% for x in list %}{{ n }}{% endfor %}{% if no %}{{ n }}{% else %}{% set n = 2 %}{% endif %}{{ n }}
{% if t %}{% set n = n %}{{ n }}{% elif n %}{% set s = 1 %}{% endif %}{{ n }} {{ s }}
{% if no %}{% if t %}{% set n = 1 %}{% endif %}{% set n = 2 %}{% endif %}{% set n = [n] %}{{ n }}
{% for x in list %}{% for y in words %}{{ n }}{% endfor %}{% set n = 5 %}{{ n }}{% endfor %}{{ n }}
{% for x in list %}{{ n }}{% set n = x %}{% endfor %}{{ n }}{% set n = 0 %}
{% set n = 0 %}{% for x in list %}{{ n }}{% set n = x %}{{ n }} {% endfor %}{{ n }}
{% for n in list %}{{ n }}{% set n = n * 2 %}{{ n }} {% else %}{{ n }}{% endfor %}{{ n }}
{% for x in list if n %}{{ x }}{% else %}none{% endfor %}{% set n = 1 %}
{% for n in list if n > 1 %}{{ n }}{{ loop.nextitem }} {% endfor %}{{ n }}
{% for n in empty %}{% else %}{{ n }}{% set n = 1 %}{{ n }}{% endfor %}{{ n }}
{% for x in list %}{% macro f() %}{{ loop.index }}{{ y }}{% endmacro %}{% set y = x %}{{ f() }} {% endfor %}
{% for x in list %}{% for y in words %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}
{% for x in list %}{% set (y, loop) = (1, 2) %}{% endfor %}
{% for x in list %}{% set loop %}1{% endset %}{% endfor %}
{% set loop = 4 %}{{ loop }}{% for x in loop %}{% endfor %}
{% set n %}{{ n }}a{% endset %}{{ n }}
{% set tools %}{{ tools|tojson }}{% endset %}
{% set s | replace('a', n) %}banana{% endset %}{{ s }}
{% set s | replace('a', n) %}{{ n }}banana{% endset %}{{ s }}
{% set x | upper %}{% set n = 'b' %}{{ n }}a{% endset %}{{ x }}{{ n }}
{% filter replace('a', s) %}{% set s = 'b' %}a{{ s }}{% endfilter %} {{ s }}
{% macro f(a, n=n) %}{{ a }}{{ n }}{% set n = 9 %}{{ n }}{% endmacro %}{{ f(1) }} {{ f(1, 2) }} {{ n }}
{% macro f(a=b, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f() }} {{ f(b=3) }} {{ f(1) }}
{% macro f() %}{{ n }}{% endmacro %}{{ f() }}{% set n = 2 %}{{ f() }}{% if t %}{% set n = 3 %}{% endif %}{{ f() }}
{% macro f() %}{{ n }}{% set n = 1 %}{% endmacro %}{{ f() }}{{ n }}
{% if no %}{% macro f() %}1{% endmacro %}{% endif %}{{ f is defined }}
{% macro f() %}{% set caller = 1 %}{{ caller }}{% endmacro %}{{ f() }}
{% macro f() %}{% if caller %}{{ caller() }}{% endif %}{% set caller = 1 %}{{ caller }}{% endmacro %}{% call f() %}x{{ n }}{% endcall %}{% set n = 1 %}{% call f() %}x{{ n }}{% endcall %}
{% macro f(caller) %}{{ caller }}{% endmacro %}
{% macro f() %}{{ caller(1) }}{% endmacro %}{% call(caller) f() %}{{ caller }}{% endcall %}
{% generation %}{{ n }}{% set n = 1 %}{{ n }}{% endgeneration %}{{ n }}
{% generation %}{{ caller is defined }}{% endgeneration %}
{% generation %}{{ caller() }}{% endgeneration %}
{% set ns = namespace(f=none) %}{% for x in list %}{% set y = x %}{% macro f() %}[{{ y }}{{ n }}]{% endmacro %}{% set ns.f = f %}{{ f() }}{% endfor %}{{ ns.f() }}
{% set ns = namespace(f=none) %}{% for x in list %}{% set y = x %}{% macro f() %}{{ y }}{% endmacro %}{% set ns.f = f %}{% break %}{% endfor %}{{ ns.f() }}{% for x in list %}{% set y = 8 %}{{ ns.f() }}{% endfor %}
{% for x in list %}{% set ns.v = x %}{% endfor %}{% set ns = namespace(v=0) %}
{% set ns.v, ns = 1, namespace() %}
{% set n.v = missing.x %}
{% set ns = namespace(a=0,b=1) %}{% for w in list %}{{ n }},{% endfor %}{% set n = 's' %}{% set n = 's' %}{{ (ns.b if ns is defined) }},
{{ (q if s else m) }}{% generation %}{{ n }},{% endgeneration %}{% set n = w %}{{ w is defined }}{{ w }},
{% set ns = namespace(a=0,b=1) %}{% set ns.a = s %}{% filter upper %}{{ [z ~ (q if n else s), z] }}{% endfilter %}{% set n = w %}
{% filter trim %}{{ m }}{{ n }},{% endfilter %}{{ t }}{% set m = 1 %}{% set n = q is defined %}{{ m }},
{% set ns = namespace(a=0,b=1) %}{% generation %}{% for m in d %}{% set ns.b = z %}{% endfor %}{{ m }}{{ m }}{% endgeneration %}
{% filter upper %}{% for s in range(2) %}{% set s = m %}{% endfor %}{{ n ~ t }}{% endfilter %}{% set n = [z, m] %}
{% generation %}{{ s }},{% generation %}{% for m in list %}{{ w }}{% endfor %}{% endgeneration %}{% endgeneration %}{% set s = n %}{% set m = 's' %}
{% for q in d if 3 %}{% set n | default(n) %}{{ n }}{% set m = q %}{% endset %}{{ w }}{{ n }}{% endfor %}
{% generation %}{% macro z(n) %}{% set z = m %}{% endmacro %}{% endgeneration %}
{% for q in list %}{{ s }},{% endfor %}{% set s = n %}{{ (z() if z is defined else '-') }}
{% for z in range(2) %}{% set w = w|default(m is defined) %}{{ n }},{% endfor %}{% set s = w %}{% set n = 8 %}{{ 2 }}
"""

SYNTAX = r"""
{% if t %}x
{% for x in list %}x{% endif %}
{% endif %}
{% foo %}
{% if t %}{% else %}{% elif t %}{% endif %}
{% set %}
{% set 1 = 2 %}
{% set "a" = 2 %}
{% set true = 2 %}
{% set none = 1 %}
{% set a.b.c = 1 %}
{% set a[0] = 1 %}
{% for 1 in list %}{% endfor %}
{% for x list %}{% endfor %}
{% for x in %}{% endfor %}
{{ 1 + }}
{{ (1 }}
{{ [1, 2 }}
{{ 1 2 }}
{{ a b }}
{{ "unclosed }}
{{ }}
{{ | upper }}
{{ x | }}
{{ x is }}
{{ x is not }}
{{ x. }}
{{ x.1a }}
{{ x[ }}
{{ x[] }}
{{ f(a=1, 2) }}
{{ f(*a, *b) }}
{{ f(a=1, a=2) }}
{{ a ! b }}
{{ a @ b }}
{{ a ? b }}
{{ ) }}
{{ (] }}
{{ {1: 2, 3} }}
{{ {"a" 1} }}
{{ x is defined if y }}
{{ x is defined is string }}
{% macro %}{% endmacro %}
{% macro f(1) %}{% endmacro %}
{% macro f(a=1, b) %}{% endmacro %}
{% macro f(a, a) %}{% endmacro %}
{% macro f(true) %}{% endmacro %}
{% macro f() %}
{% call x %}{% endcall %}
{% call %}{% endcall %}
{% filter %}{% endfilter %}
{% filter nope %}x{% endfilter %}
{% break %}
{% continue %}
{% macro f() %}{% break %}{% endmacro %}
{% for x in list %}{% call f() %}{% break %}{% endcall %}{% endfor %}
{% for x in list %}{% generation %}{% break %}{% endgeneration %}{% endfor %}
{% if %}{% endif %}
{% if t %}{% endif foo %}
{% 1 %}
{% for x in list %}{% set loop = 1 %}{% endfor %}
{% macro true() %}{% endmacro %}
{% for loop in list %}{{ loop.index }}{% endfor %}
{{ "\x4" }}
{{ "\u12" }}
{{ "\U00110000" }}
{{ not }}
{{ in }}
{{ 1 if }}
{{ 1 if t else }}
{{ t and }}
{{ 0x }}
{{ 1__0 }}
{{ 1.e }}
{{ 1.5.5 }}
{{ a..b }}
{{ .5 }}
{{ a.b() c }}
{{ ~ 1 }}
{{ 1 ~ }}
{{ a := 1 }}
{{ a; b }}
{{ lambda x: x }}
{{ [x for x in list] }}
{{ *a }}
{% set x = %}
{% generation %}x
{% endgeneration %}
{% raw %}{% endraw
"""

# Errors behind the first line.
LINES = [
    "a\nb\n{{ missing.x }}\nc", "{% for x in list %}\n{{ x }}\n{{ x.y.z }}\n{% endfor %}",
    "{% macro f(a) %}\n{{ a.b.c }}\n{% endmacro %}\n\n{{ f(1) }}\n", "\n\n{{ raise_exception('third') }}", "\n{%- if t %}\n{%- if n %}\n{{ raise_exception('fourth') }}{% endif %}{% endif %}",
    "\n\n{% nope %}", "\n{{ 1 +\n\n }}", "\n{{ (1\n,2 ]}}", "{# c\nc\nc #}\n{% endif %}", "{% raw %}\n\n{% endraw %}\n{{ x. }}", "\n'x'\n{{ \"a\nb\" ~ @ }}",
    "{% if t %}\n{% for x in list %}\n{% endif %}", "{% set x %}\n\n{{ s.y.z }}{% endset %}", "{% filter upper %}\n{{ s.y.z }}\n{% endfilter %}",
    "a\n{%- set x = 1 -%}\n\n\n{{ missing() }}", "{{ n\n}}\n{{ list.append(1) }}", "{% if t %}\nx", "\n{{ 'abc\n",
]
