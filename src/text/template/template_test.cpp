// Snippets against the reference, and what bounds a rendering.
#include "text/template/template.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/golden.h"
#include "text/template/values/json.h"

namespace hearth::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

Json golden(const char* name) {
  std::ifstream file(test::folder_of(__FILE__) / "golden" / name);
  return Json::parse(file);
}

Dict dict_of(const Json& object) { return read_json(object.dump(), "variables").entries(); }

const char* name_of(Failure kind) {
  switch (kind) {
    case Failure::syntax: return "syntax";
    case Failure::raised: return "raised";
    case Failure::runtime: return "runtime";
    case Failure::undefined: return "undefined";
    case Failure::security: return "security";
    case Failure::type: return "type";
    case Failure::value: return "value";
    case Failure::overflow: return "overflow";
    case Failure::limit: return "limit";
  }
  return "";
}

LocalTime fixed_time(const Json& now) {
  LocalTime local;
  local.time.tm_year = now[0].get<int>() - 1900;
  local.time.tm_mon = now[1].get<int>() - 1;
  local.time.tm_mday = now[2];
  local.time.tm_hour = now[3];
  local.time.tm_min = now[4];
  local.time.tm_sec = now[5];
  local.microseconds = now[6];
  return local;
}

std::string render(const std::string& source, const Dict& variables = {}, const Environment& environment = {}) {
  return Template::parse(source, "test").render(variables, environment);
}

// The failure of a template that must not render.
TemplateError failure(const std::string& source, const Dict& variables = {}, const Environment& environment = {}) {
  try {
    const std::string text = render(source, variables, environment);
    ADD_FAILURE() << source << " gives " << text.substr(0, 200);
  } catch (const TemplateError& e) {
    EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    return e;
  }
  return {Failure::raised, ""};
}

// Text by text, and of errors the kind, the line and, where the words are Jinja2's own and not Python's, the message.
TEST(Template, snippets_equal_jinja2) {
  const Json file = golden("snippets.json");
  const Dict variables = dict_of(file["variables"]);
  const Environment environment{.now = [&] { return fixed_time(file["now"]); }};
  int texts = 0, errors = 0;
  for (const Json& row : file["cases"]) {
    const std::string source = row[0];
    if (row[1].is_string()) {
      ++texts;
      try {
        EXPECT_EQ(render(source, variables, environment), row[1].get<std::string>()) << source;
      } catch (const Error& e) { ADD_FAILURE() << source << "\n" << e.what(); }
      continue;
    }
    ++errors;
    const TemplateError e = failure(source, variables, environment);
    const std::string kind = row[1][0];
    EXPECT_EQ(name_of(e.kind), kind) << source << "\n" << e.what();
    const std::string message = row[1][1];
    const bool own_words = kind != "type" && kind != "value" && kind != "overflow";
    EXPECT_TRUE(!own_words || e.message == message) << source << "\n" << e.message << "\n" << message;
    // Python's own compiler counts lines in the code that Jinja2 makes.
    const bool has_line = row[1][2] != 0 && message.find("outside loop") == std::string::npos;
    EXPECT_TRUE(!has_line || e.line == row[1][2]) << source << "\n" << e.what();
  }
  EXPECT_GT(texts, 200);
  EXPECT_GT(errors, 150);
}

TEST(Template, errors_name_template_and_line) {
  EXPECT_STREQ(failure("a\n{{ x.y }}").what(), "template 'test', line 2: 'x' is undefined");
  EXPECT_STREQ(failure("\n\n{% if %}").what(), "template 'test', line 3: Expected an expression, got 'end of statement block'");
  EXPECT_STREQ(failure("{{ raise_exception('two\nlines') }}").what(), "template 'test', line 1: two\\nlines");
  EXPECT_EQ(failure("{{ raise_exception('two\nlines') }}").message, "two\nlines");
  // Where an expression goes over lines, the line of the part that failed; Jinja2 names its first.
  EXPECT_EQ(failure("{{ 1 +\n 2 +\n x.y }}").line, 3);
}

TEST(Template, unsupported_constructs_are_named) {
  const auto message = [](const std::string& source) -> std::string {
    try {
      return "rendered: " + render(source);
    } catch (const UnsupportedError& e) { return e.what(); }
  };
  EXPECT_EQ(message("\n{% include 'x' %}"), "template 'test', line 2: the tag 'include' is not supported");
  for (const char* tag : {"import", "extends", "block", "from", "autoescape", "trans", "with", "print", "do"})
    EXPECT_EQ(message(fmt::format("{{% {} 'x' %}}", tag)), fmt::format("template 'test', line 1: the tag '{}' is not supported", tag));
  EXPECT_EQ(message("a\n\n{{ x | urlize }}"), "template 'test', line 3: the filter 'urlize' is not supported");
  EXPECT_EQ(message("\n{{ ['a']|map('urlize')|list }}"), "template 'test', line 2: the filter 'urlize' is not supported");
  EXPECT_EQ(message("{% if false %}{{ x is escaped }}{% endif %}"), "template 'test', line 1: the test 'escaped' is not supported");
  EXPECT_EQ(message("{{ ['a']|select('upper')|list }}"), "template 'test', line 1: the test 'upper' is not supported");
  for (const char* name : {"attr", "batch", "center", "filesizeformat", "forceescape", "groupby", "pprint", "random", "slice", "striptags",
                           "truncate", "urlencode", "wordcount", "wordwrap", "xmlattr"})
    EXPECT_EQ(message(fmt::format("{{{{ x|{} }}}}", name)), fmt::format("template 'test', line 1: the filter '{}' is not supported", name));
  for (const char* name : {"cycler", "joiner", "lipsum"})
    EXPECT_EQ(message(fmt::format("{{{{ {}() }}}}", name)), fmt::format("template 'test', line 1: {}() is not supported", name));
  for (const char* name : {"changed", "cycle", "depth", "depth0"})
    EXPECT_EQ(message(fmt::format("{{% for x in [1] %}}{{{{ loop.{} }}}}{{% endfor %}}", name)),
              fmt::format("template 'test', line 1: loop.{} is not supported", name));
  for (const char* name : {"arguments", "caller", "catch_kwargs", "catch_varargs", "name"})
    EXPECT_EQ(message(fmt::format("{{% macro f() %}}{{% endmacro %}}{{{{ f.{} }}}}", name)),
              fmt::format("template 'test', line 1: the attribute '{}' of a function is not supported", name));
  EXPECT_EQ(message("{% for x in [1] recursive %}{% endfor %}"), "template 'test', line 1: a recursive loop is not supported");
  EXPECT_EQ(message("\n{% macro f() %}{{ kwargs }}{% endmacro %}"), "template 'test', line 2: 'kwargs' in a macro is not supported");
  EXPECT_EQ(message("{% macro f() %}{{ varargs }}{% endmacro %}"), "template 'test', line 1: 'varargs' in a macro is not supported");
  EXPECT_EQ(render("{% macro f(kwargs) %}{{ kwargs }}{% endmacro %}{{ f(1) }}"), "1");
  EXPECT_EQ(message("{{ dict(**{}) }}"), "template 'test', line 1: ** in a call is not supported");
  EXPECT_EQ(message("{{ 1 + +1 }}"), "template 'test', line 1: the sign '+' is not supported");
  EXPECT_EQ(message("\n{{ 0x1f }}"), "template 'test', line 2: a number that begins as '0x' is not supported");
  EXPECT_EQ(message("{{ 1_000 }}"), "template 'test', line 1: a number that begins as '1_' is not supported");
  EXPECT_EQ(message("{{ 2 ** 3 }}"), "template 'test', line 1: the operator '**' is not supported");
  EXPECT_EQ(message("{{ 7.5 // 2 }}"), "template 'test', line 1: // of floats is not supported");
  EXPECT_EQ(message("{{ 7 % 2.5 }}"), "template 'test', line 1: % of floats is not supported");
  EXPECT_EQ(message("{{ '1f'|int(base=16) }}"), "template 'test', line 1: the filter 'int' with another base than 10 is not supported");
  EXPECT_EQ(message("{{ 1250|round(-2) }}"), "template 'test', line 1: the filter 'round' with a negative precision is not supported");
  EXPECT_EQ(message("{{ '%s'|format(a=1) }}"), "template 'test', line 1: the filter 'format' with named arguments is not supported");
  for (const char* format : {"%5", "%.", "%(", "%x", "%f", "%c", "%a", "%-", "%é"})
    EXPECT_EQ(message(fmt::format("{{{{ '{}' % 1 }}}}", format)),
              fmt::format("template 'test', line 1: the format '{}' is not supported", format));
  EXPECT_EQ(message("{{ '%d' % 1.5 }}"), "template 'test', line 1: the format '%d' of a float is not supported");
  for (const char* format : {"{:5}", "{!r}", "{a.b}", "{a[0]}", "{0:>5}", "{:,}", "{:.2f}"})
    EXPECT_EQ(message(fmt::format("{{{{ '{}'.format(1, a=2) }}}}", format)),
              fmt::format("template 'test', line 1: the format '{}' is not supported", format));
  EXPECT_EQ(message("{{ 'a'.swapcase() }}"), "template 'test', line 1: the attribute 'swapcase' of str is not supported");
  EXPECT_EQ(message("{{ [1].copy() }}"), "template 'test', line 1: the attribute 'copy' of list is not supported");
  EXPECT_EQ(message("{{ true.real }}"), "template 'test', line 1: the attribute 'real' of int is not supported");
  EXPECT_EQ(message("{{ (1.5).is_integer() }}"), "template 'test', line 1: the attribute 'is_integer' of float is not supported");
  EXPECT_EQ(message("{{ range(3).stop }}"), "template 'test', line 1: the attribute 'stop' of range is not supported");
  EXPECT_EQ(render("{{ {'copy': 1}['copy'] }}"), "1");  // a key, not the method
}

TEST(Template, source_must_be_text) {
  EXPECT_THROW(Template::parse("a\xff", "t"), IoError);
  EXPECT_THROW(Template::parse("\xed\xa0\x80", "t"), IoError);
  EXPECT_THROW(Template::parse(std::string(Limits::source + 1, 'x'), "t"), IoError);
}

// Jinja2 takes half a pair and fails when the text is written.
TEST(Template, half_a_surrogate_pair_is_no_character) {
  EXPECT_EQ(failure("{{ '\\ud800' }}").kind, Failure::syntax);
  EXPECT_EQ(render("{{ '\\ud7ff\\ue000' }}"), "\xed\x9f\xbf\xee\x80\x80");
}

// What a block makes ready costs steps, though nothing in it runs.
TEST(Template, names_of_blocks_that_do_not_run_are_counted) {
  std::string sets;
  for (int i = 0; i < 20000; ++i) sets += fmt::format("{{% set x{} = 1 %}}", i);
  const std::string loops = "{% for i in range(9999) %}{% for j in range(9999) %}", ends = "{% endfor %}{% endfor %}";
  for (const std::string& source : {loops + "{% if false %}" + sets + "{% endif %}" + ends,
                                    "{% macro f() %}{% for i in [] %}" + sets + "{% endfor %}{% endmacro %}" + loops + "{{ f() }}" + ends})
    EXPECT_EQ(failure(source).kind, Failure::limit);
}

TEST(Template, integers_are_computed_in64_bits) {
  EXPECT_EQ(render("{{ 9223372036854775807 }} {{ -9223372036854775807 - 1 }}"), "9223372036854775807 -9223372036854775808");
  for (const char* source :
       {"{{ 9223372036854775807 + 1 }}", "{{ -9223372036854775807 - 2 }}", "{{ 3037000500 * 3037000500 }}",
        "{{ -(-9223372036854775807 - 1) }}", "{{ (-9223372036854775807 - 1) // -1 }}", "{{ 1e30|int }}", "{{ ('9' * 30)|int }}",
        "{{ -9223372036854775808 }}", "{{ 9223372036854775808 + 1 }}", "{{ 9223372036854775808 < 1 }}",
        "{{ 1e19 == 10000000000000000000 }}", "{{ 9223372036854775808|float }}", "{{ 9223372036854775808|abs }}"})
    EXPECT_EQ(failure(source).kind, Failure::overflow) << source;
}

// One that is given is printed as it was written.
TEST(Template, integers_of_more_than64_bits_are_kept) {
  const Dict given = read_json(R"({"d": {"n": -18446744073709551616, "big": 123456789012345678901234567890}})", "given").entries();
  EXPECT_EQ(render("{{ d }} {{ d.n }} {{ d|tojson }} {{ d.n is integer }} {{ '%d' % d.n }} {{ '{:d}'.format(d.big) }}", given),
            "{'n': -18446744073709551616, 'big': 123456789012345678901234567890} -18446744073709551616 "
            "{\"n\": -18446744073709551616, \"big\": 123456789012345678901234567890} True -18446744073709551616 "
            "123456789012345678901234567890");
}

TEST(Template, any_number_of_renderings_at_once_and_in_a_row) {
  const Template t =
      Template::parse("{% set ns = namespace(n=0) %}{% for x in list %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", "t");
  Dict variables;
  variables.set("list", Value::list({1, 2, 3}));
  EXPECT_EQ(t.render(variables), "6");
  EXPECT_EQ(t.render(variables), "6");
}

TEST(Limits, steps_memory_and_depth_end) {
  const Environment small{.limits = {.steps = 200'000, .bytes = 4'000'000}};
  const auto stops = [&](const std::string& source, const char* word) {
    const TemplateError e = failure(source, {}, small);
    EXPECT_EQ(e.kind, Failure::limit) << source << e.what();
    EXPECT_NE(e.message.find(word), std::string::npos) << source << e.what();
  };
  stops("{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}", "steps");
  stops("{% for a in range(90000) %}{% set x = a in [1, 2, 3] %}{% endfor %}", "steps");
  stops("{{ range(15000)|list|sort|sort|sort|length }}", "steps");
  stops("{{ 'x' * 5000000 }}", "bytes");
  stops("{{ [0] * 5000000 }}", "bytes");
  stops("{{ 'a'|indent(5000000) }}", "bytes");
  stops("{{ 'ab'|replace('', 'x' * 2000000) }}", "bytes");
  stops("{{ (['x' * 100000] * 100)|join }}", "bytes");
  stops("{{ ('x' * 100000) ~ ('x' * 100000) * 50 }}", "bytes");
  stops("{% set ns = namespace(s='x' * 1000) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "bytes");
  stops("{% set ns = namespace(s=[0]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}", "");
  stops("{% set ns = namespace(s=[0]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s|tojson }}", "");
  stops(
      "{% set ns = namespace(s=[0], t=[0]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t = [ns.t, ns.t] %}{% endfor "
      "%}{{ ns.s == ns.t }}",
      "steps");
  stops("{% for i in range(50000) %}{{ 'x' * 200 }}{% endfor %}", "bytes");
  stops("{% set ns = namespace(l=none) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor %}", "nested");
  stops("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "recursion");
  stops("{% set ns = namespace(g=['a']) %}{% for i in range(1000) %}{% set ns.g = ns.g|map('upper') %}{% endfor %}{{ ns.g|list }}",
        "nested");
  stops("{% set ns = namespace(p=none) %}{% for i in range(1000000 // 100) %}{% set ns.p = namespace(p=ns.p, q='x' * 500) %}{% endfor %}",
        "bytes");
}

// What a rendering has let go of is not counted any more.
TEST(Limits, freed_values_are_given_back) {
  const Environment small{.limits = {.steps = 1'000'000, .bytes = 200'000}};
  EXPECT_EQ(render("{% for i in range(5000) %}{% set x = 'x' * 1000 %}{% endfor %}done", {}, small), "done");
  EXPECT_EQ(
      render("{% macro f(n) %}{{ 'x' * 1000 if n else '' }}{% endmacro %}{% for i in range(2000) %}{% set x = f(i) %}{% endfor %}done", {},
             small),
      "done");
  EXPECT_EQ(render("{% for i in range(500) %}{% set x %}{{ 'x' * 1000 }}{% endset %}{% endfor %}done", {}, small), "done");
  EXPECT_EQ(render("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{% for i in range(50) %}{{ f(60) }}{% endfor %}done",
                   {}, small),
            "done");
}

TEST(Limits, sources_nested_too_deep_are_refused) {
  const auto repeat = [](const char* s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  for (const char* open : {"(", "[", "{1:", "-", "not ", "f(", "x[", "1 if ", "a|default("})
    EXPECT_EQ(failure("{{ " + repeat(open, 20000)).kind, Failure::syntax) << open;
  EXPECT_EQ(failure("{{ 1" + repeat(" + 1", 20000) + " }}").kind, Failure::syntax);
  EXPECT_EQ(failure("{{ x" + repeat(".a", 20000) + " }}").kind, Failure::syntax);
  EXPECT_EQ(failure("{{ x" + repeat("|trim", 20000) + " }}").kind, Failure::syntax);
  EXPECT_EQ(failure(repeat("{% if x %}", 20000)).kind, Failure::syntax);
  EXPECT_EQ(failure(repeat("{% for a in b %}", 20000)).kind, Failure::syntax);
  // What published templates nest stays far below.
  EXPECT_EQ(render("{{ 1" + repeat(" + 1", 250) + " }}"), "251");
  EXPECT_EQ(render("{{ " + repeat("(", 250) + "1" + repeat(")", 250) + " }}"), "1");
  EXPECT_EQ(render("{{ 'a'" + repeat(" ~ 'a'", 5000) + " }}").size(), 5001u);
}

// A namespace that holds itself, macros that hold their scope, loops that hold each other: all freed (seen by the leak sanitizer).
TEST(Limits, circles_are_freed) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me.me.me is defined }}"), "True");
  EXPECT_EQ(render("{% macro f() %}{{ f is defined }}{% endmacro %}{% set ns = namespace(f=f) %}{{ ns.f() }}"), "True");
  EXPECT_EQ(render("{% for i in [1] %}{% set y = loop %}{% endfor %}done"), "done");
  EXPECT_EQ(render("{% set ns = namespace(l=[]) %}{% for i in [1, 2] %}{% set ns.l = ns.l + [loop, ns] %}{% endfor %}{{ ns.l|length }}"),
            "4");
  EXPECT_EQ(failure("{% for i in [1] if i %}{{ loop.index }}{{ x.y }}{% endfor %}").kind, Failure::undefined);
  // Far longer than the stack is deep.
  EXPECT_EQ(render("{% set ns = namespace(p=none) %}{% for i in range(99999) %}{% set ns.p = namespace(p=ns.p) %}{% endfor %}done"),
            "done");
  EXPECT_EQ(render("{% set ns = namespace(f=none) %}{% macro keep(before) %}{% macro f() %}{% endmacro %}{% set ns.f = f %}{% set f = 0 %}"
                   "{% endmacro %}{% for i in range(50000) %}{{ keep(ns.f) }}{% endfor %}{% set ns.f = 0 %}done"),
            "done");
}

}  // namespace
}  // namespace hearth::text::jinja
