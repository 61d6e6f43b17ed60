// Schemas with instances, each checked by an independent validator (valijson): what is drawn at random through the masks is valid, and
// valid instances are accepted however they are divided into tokens.
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "support/complaint.h"
#include "text/grammar/grammar_test.h"
#include "text/grammar/json_schema.h"

namespace hearth::text::grammar {
namespace {

using hearth::test::complaint_of;
using OrderedJson = nlohmann::ordered_json;

struct Case {
  const char* schema;
  std::vector<const char*> valid, invalid;  // compact, properties in order
  bool others = true;                       // the validator knows these keywords
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {R"({})", {"1", "null", R"({"a":[1,{}]})", R"("x")"}, {"", "{", "tru"}, true},
      {R"({"type":"boolean"})", {"true", "false"}, {"null", "1"}},
      {R"({"type":["integer","null"]})", {"0", "-12", "null"}, {"-0", "01", "1.5", R"("1")"}},
      {R"({"type":"number"})", {"0", "-0.5", "1e5", "12.25E-3"}, {".5", "1.", "+1", "01"}},
      {R"({"enum":["a","b\"c",1,null,{"x":[1,2]}]})",
       {R"("a")", R"("b\"c")", "1", "null", R"({"x":[1,2]})"},
       {R"("b")", "2", R"({"x":[1]})"}},
      {R"({"const":{"kind":"é"}})", {R"({"kind":"é"})"}, {R"({"kind":"e"})"}},
      {R"({"type":"string","enum":["a",1,"b"]})", {R"("a")", R"("b")"}, {"1"}},
      {R"({"enum":["ab","b","abc"],"maxLength":2,"pattern":"^a"})", {R"("ab")"}, {R"("b")", R"("abc")"}},
      {R"({"type":"integer","minimum":-5,"maximum":120})", {"-5", "0", "7", "99", "120"}, {"-6", "121", "1000", "-12"}},
      {R"({"type":"integer","exclusiveMinimum":9,"exclusiveMaximum":100})", {"10", "99"}, {"9", "100", "5"}},
      {R"({"type":"integer","minimum":100})", {"100", "101", "999", "1000", "250000"}, {"99", "-100", "1"}},
      {R"({"type":"integer","maximum":-10})", {"-10", "-11", "-100"}, {"-9", "10", "0"}},
      {R"({"type":"number","minimum":0.5,"exclusiveMaximum":2.25})",
       {"0.5", "0.50", "1", "2.2", "2.249", "0.51"},
       {"0.49", "2.25", "2.3", "0", "-1", "22"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"0.1", "0.001", "5", "10.0"}, {"0", "0.0", "-0", "-1"}},
      {R"({"type":"number","exclusiveMinimum":-1.5,"maximum":0})", {"-1.49", "-1", "0", "-0.5", "0.0"}, {"-1.5", "-2", "0.1", "1"}},
      {R"({"type":"integer","multipleOf":7})", {"0", "7", "-14", "21", "700"}, {"1", "8", "70001"}},
      {R"({"type":"integer","multipleOf":25,"minimum":1,"maximum":100})", {"25", "50", "75", "100"}, {"0", "125", "30"}},
      {R"({"type":"number","multipleOf":0.25})", {"0", "0.25", "1.5", "2", "-3.75"}, {"0.3", "1.1"}, false},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("é日")", R"("a\n")", R"("😀\u00e9x")", R"("\ud83d\ude00x")"},
       {R"("a")", R"("abcd")", R"("")"}},
      {R"({"type":"string","minLength":3})", {R"("abc")", R"("abcdef")"}, {R"("ab")"}},
      {R"({"type":"string","pattern":"^[a-z]+-\\d{2}$"})", {R"("ab-12")"}, {R"("ab-1")", R"("AB-12")", R"("ab-123")"}},
      {R"({"type":"string","pattern":"b+"})", {R"("abc")", R"("b")", R"("\"b\\")", R"("b\n")"}, {R"("ac")"}},
      {R"({"type":"string","pattern":"^a*$","minLength":2,"maxLength":4})", {R"("aa")", R"("aaaa")"}, {R"("a")", R"("aaaaa")", R"("ab")"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":false})",
       {R"({"a":1,"b":"x"})"},
       {R"({"a":1})", R"({})", R"({"a":1,"b":"x","c":1})", R"({"a":"1","b":"x"})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{}},"required":["b"],"additionalProperties":false})",
       {R"({"b":"x"})", R"({"a":1,"b":"x"})", R"({"b":"","c":[1]})", R"({"a":1,"b":"x","c":null})"},
       {R"({"a":1})", R"({"a":1,"c":2})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"boolean"}})",
       {"{}", R"({"a":1})", R"({"b":true})", R"({"a":1,"ab":false,"":true})"},
       {R"({"a":true})", R"({"b":1})", R"({"a":1,"b":1})"}},
      {R"({"type":"object","properties":{"x":{"const":1}},"required":["x","y"]})",
       {R"({"x":1,"y":2})", R"({"x":1,"y":null,"z":{}})"},
       {R"({"x":1})", R"({"x":2,"y":1})"}},
      {R"({"type":"object","patternProperties":{"^n_":{"type":"number"},"_s$":{"type":["string","number"]}},"additionalProperties":false})",
       {"{}", R"({"n_a":1})", R"({"a_s":"x"})", R"({"n_s":1})"},
       {R"({"n_a":"x"})", R"({"b":1})", R"({"n_s":"x"})"}},
      {R"({"type":"object","propertyNames":{"pattern":"^[a-c]{1,2}$"},"additionalProperties":{"type":"integer"},"maxProperties":2})",
       {"{}", R"({"a":1})", R"({"a":1,"bc":2})"},
       {R"({"d":1})", R"({"abc":1})", R"({"a":1,"b":2,"c":3})"}},
      {R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"}},"additionalProperties":false,"minProperties":2,"maxProperties":2})",
       {R"({"a":null,"b":null})", R"({"a":null,"c":null})"},
       {R"({"a":null})", R"({"a":null,"b":null,"c":null})"}},
      {R"({"type":"object","minProperties":1})", {R"({"a":1})", R"({"a":1,"b":2})"}, {"{}"}},
      {R"({"type":"array","items":{"type":"integer"}})", {"[]", "[1]", "[1,-2,3]"}, {R"(["a"])", "[1,]", "[,1]"}},
      {R"({"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":3})",
       {"[true]", "[true,false,true]"},
       {"[]", "[true,true,true,true]"}},
      {R"({"type":"array","items":[{"type":"integer"},{"type":"string"}],"additionalItems":false})",
       {"[]", "[1]", R"([1,"a"])"},
       {R"(["a"])", R"([1,"a",2])"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"},"minItems":2})",
       {R"([1,"a"])", R"([1,"a",null])"},
       {"[1]", R"([1,"a",2])"},
       false},
      {R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":10},"maxItems":3})",
       {"[10]", "[1,11]", "[10,20,1]"},
       {"[]", "[1,2]", "[1,2,3,10]"}},
      {R"({"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true,"minItems":1})",
       {R"(["a"])", R"(["c","a"])", R"(["b","a","c"])"},
       {"[]", R"(["a","a"])", R"(["d"])"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})", {"1", R"("a")"}, {"null", R"("ab")"}},
      {R"({"type":"object","properties":{"k":{"type":"string"}},"anyOf":[{"required":["k"]},{"properties":{"n":{"type":"integer"}},"required":["n"]}]})",
       {R"({"k":"a"})", R"({"k":"a","n":1})", R"({"n":1})"},
       {"{}", R"({"k":1})", R"({"n":"x"})"}},
      {R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"],"additionalProperties":false},
                    {"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"],"additionalProperties":false}]})",
       {R"({"kind":"a","x":1})", R"({"kind":"b"})"},
       {R"({"kind":"a"})", R"({"kind":"b","x":1})", R"({"kind":"c"})"}},
      {R"({"oneOf":[{"type":"integer","maximum":3},{"type":"integer","exclusiveMinimum":3,"maximum":9},{"type":"string","pattern":"^a"},{"type":"string","pattern":"^b"}]})",
       {"3", "4", R"("ax")", R"("b")"},
       {"10", R"("c")"}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"a":{"minimum":5},"b":{"type":"null"}}}]})",
       {R"({"a":5})", R"({"a":6,"b":null})"},
       {R"({"a":4})", "{}", R"({"a":5,"b":1})"}},
      {R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},
           "required":["v","next"],"additionalProperties":false}}})",
       {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":{"v":3,"next":null}}})"},
       {R"({"v":1})", R"({"v":1,"next":1})"}},
      {R"({"type":"array","items":{"$ref":"#"},"maxItems":2})", {"[]", "[[],[]]", "[[[]]]"}, {"[[],[],[]]", "[1]"}},
      {R"({"definitions":{"a/b":{"type":"integer"}},"properties":{"p":{"$ref":"#/definitions/a~1b"},"q":false,"r":true},"type":"object","required":["p"]})",
       {R"({"p":1})", R"({"p":1,"r":[]})"},
       {R"({"p":"1"})", R"({"p":1,"q":1})"}},
      {R"({"title":"t","description":"d","default":1,"examples":[1],"$comment":"c","$schema":"http://json-schema.org/draft-07/schema#","type":"integer"})",
       {"1"},
       {"x"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("2023-12-31")", R"("2000-02-29")"},
       {R"("2023-02-29")", R"("1900-02-29")", R"("2024-13-01")", R"("2024-04-31")", R"("24-01-01")"},
       false},
  };
  return all;
}

class Validator {
 public:
  explicit Validator(const std::string& text) : document_(nlohmann::json::parse(text)) {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document_), schema_);
  }
  bool valid(const std::string& text) {
    const auto value = nlohmann::json::parse(text, nullptr, false);
    if (value.is_discarded()) return false;
    return valijson::Validator().validate(schema_, valijson::adapters::NlohmannJsonAdapter(value), nullptr);
  }

 private:
  nlohmann::json document_;
  valijson::Schema schema_;
};

TEST(json_schema, instances) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.schema);
    const Grammar g(json_schema_text(c.schema));
    std::optional<Validator> validator;
    if (c.others) validator.emplace(c.schema);
    for (const char* text : c.valid) {
      EXPECT_TRUE(test::accepts_any_tokenization(g, text, 3)) << text;
      EXPECT_TRUE(g.matches(OrderedJson::parse(text).dump(2)) || std::string_view(text).find_first_of("\\0eE") != std::string_view::npos)
          << text;
      EXPECT_TRUE(!validator || validator->valid(text)) << text;
    }
    for (const char* text : c.invalid) {
      EXPECT_FALSE(g.matches(text)) << text;
      const std::string_view spelled(text);
      EXPECT_TRUE(!validator || spelled == "-0" || !validator->valid(text)) << text;
    }
  }
}

TEST(json_schema, what_is_drawn_is_valid) {
  size_t ended = 0, drawn = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.schema);
    for (const Whitespace whitespace : {Whitespace::compact, Whitespace::flexible}) {
      const Grammar g(json_schema_text(c.schema, {whitespace}));
      std::optional<Validator> validator;
      if (c.others) validator.emplace(c.schema);
      for (unsigned seed = 0; seed < 8; ++seed) {
        ++drawn;
        const auto text = test::random_text(g, seed, seed * 4, 400, seed == 1);
        if (!text) continue;
        ++ended;
        EXPECT_TRUE(g.matches(*text));
        EXPECT_TRUE(nlohmann::json::accept(*text)) << *text;
        EXPECT_TRUE(!validator || validator->valid(*text)) << *text;
        EXPECT_TRUE(whitespace == Whitespace::flexible || text->find_first_of("\n\t") == std::string::npos);
      }
    }
  }
  EXPECT_GT(ended, drawn * 9 / 10);
}

TEST(json_schema, modes_without_a_schema) {
  const Grammar any(json_value()), object(json_object());
  for (const char* text : {"1", "[1, 2]", R"({"a": {"b": [true, null]}})", R"("\ud83d\ude00")", "{\n  \"a\": 1\n}"}) {
    EXPECT_TRUE(test::accepts_any_tokenization(any, text)) << text;
    EXPECT_EQ(object.matches(text), text[0] == '{') << text;
  }
  for (const char* text :
       {"", " 1", "1 ", "[1,]", "{\"a\" :1}", R"("\ud83d")", R"("\ud83dx")", "\"\x01\"", "\"\xff\"", "nul", "{\"a\":\n\n\n1}", "1e999"})
    EXPECT_FALSE(any.matches(text)) << text;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto text = test::random_text(object, seed, seed, 400, seed < 3);
    EXPECT_TRUE(!text || nlohmann::json::accept(*text)) << *text;
  }
}

TEST(json_schema, formats) {
  const auto matches = [](const std::string& format, const std::string& value) {
    return Grammar(json_schema_text(R"({"type":"string","format":")" + format + "\"}")).matches("\"" + value + "\"");
  };
  const auto check = [&](const std::string& format, const std::vector<const char*>& good, const std::vector<const char*>& bad) {
    const Grammar g(json_schema_text(R"({"type":"string","format":")" + format + "\"}"));
    for (const char* value : good) EXPECT_TRUE(g.matches("\"" + std::string(value) + "\"")) << format << " " << value;
    for (const char* value : bad) EXPECT_FALSE(g.matches("\"" + std::string(value) + "\"")) << format << " " << value;
  };
  check("time", {"23:59:59Z", "00:00:00.123+05:30"}, {"24:00:00Z", "12:60:00Z", "12:00:00"});
  check("date-time", {"2024-02-29T12:00:00Z"}, {"2023-02-29T12:00:00Z", "2024-02-29 12:00:00Z", "2024-02-29"});
  check("duration", {"P1Y2M3D", "PT5M", "P3W", "P1DT12H"}, {"P", "1Y", "PT", "P1W2D"});
  check("email", {"a.b+c@example.org"}, {"a@", "a@b", "@b.c", "a..b@c.de", "a b@c.de"});
  check("hostname", {"localhost", "a-b.example.com"}, {"-a.com", "a-.com", "a..b", ""});
  check("ipv4", {"0.0.0.0", "255.1.22.199"}, {"256.1.1.1", "1.2.3", "01.2.3.4"});
  check("ipv6", {"::", "::1", "1::", "2001:db8::8a2e:370:7334", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"},
        {"1:2:3:4:5:6:7", "1::2::3", ":::", "12345::", "1:2:3:4:5:6:7:8:9", ":1", "1:2:3:4:5:6:7:8::"});
  check("uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"});
  check("uri", {"https://a.org/b?c=d#e", "mailto:a@b.c", "urn:x:y"}, {"a.org", "//a.org", "http://a b", "http://a/%zz"});
  check("json-pointer", {"", "/a/b~0", "/"}, {"a", "/~2"});
  EXPECT_FALSE(matches("ipv4", "1.2.3.4.5"));
}

std::string refusal(const char* schema) {
  return complaint_of([&] { Grammar{json_schema_text(schema)}; });
}

TEST(json_schema, refusals_name_the_place_and_the_keyword) {
  const auto starts = [](const char* schema, const std::string& start) {
    const std::string complaint = refusal(schema);
    EXPECT_EQ(complaint.substr(0, start.size()), start) << schema << "\n" << complaint;
  };
  starts(R"({"properties":{"a":{"not":{}}}})", "UnsupportedError: schema: #/properties/a: not: the keyword is not supported");
  starts(R"({"if":{},"then":{}})", "UnsupportedError: schema: #: if: ");
  starts(R"({"items":{"unevaluatedItems":false}})", "UnsupportedError: schema: #/items: unevaluatedItems: ");
  starts(R"({"dependentRequired":{}})", "UnsupportedError: schema: #: dependentRequired: ");
  starts(R"({"type":"object","required":["a"],"x-thing":1})", "UnsupportedError: schema: #: x-thing: ");
  starts(R"({"type":"string","format":"color"})", "UnsupportedError: schema: #: format: 'color' is not supported, expected date, ");
  starts(R"({"type":"string","format":"int64"})", "UnsupportedError: schema: #: format: 'int64' is a format of numbers");
  starts(R"x({"type":"string","pattern":"(?=a)"})x", "UnsupportedError: schema: #: pattern: regex: column 1: lookahead");
  starts(R"x({"type":"string","pattern":"("})x", "UsageError: schema: #: pattern: regex: column 1");
  starts(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "UnsupportedError: schema: #: oneOf: branches 0 and 1 may both hold");
  starts(R"({"type":"array","uniqueItems":true,"items":{"type":"string"}})", "UnsupportedError: schema: #: uniqueItems: ");
  starts(R"({"type":"object","minProperties":3})", "UnsupportedError: schema: #: minProperties: ");
  starts(R"({"type":"integer","multipleOf":123457})", "UnsupportedError: schema: multipleOf: multiples of 123457. need more than");
  starts(R"({"$ref":"https://example.org/x"})", "UnsupportedError: schema: #: $ref: it refers to");
  starts(R"({"$ref":"#/$defs/x"})", "UsageError: schema: #: $ref: '#/$defs/x' does not exist");
  starts(R"({"$ref":"#"})", "UnsupportedError: schema: #: $ref: it leads back to itself");
  starts(R"({"allOf":[{"$ref":"#"}]})", "UnsupportedError: schema: #: $ref: it leads back to itself");
  starts(R"({"type":"strin"})", "UsageError: schema: #: type: expected one of the seven types");
  starts(R"({"minLength":-1})", "UsageError: schema: #: minLength: expected a count");
  starts(R"({"required":"a"})", "UsageError: schema: #: required: expected a list of strings");
  starts(R"({"enum":[]})", "UsageError: schema: #: enum: expected a list that is not empty");
  starts(R"([])", "UsageError: schema: #: expected an object, true or false");
  starts(R"({"a":)", "UsageError: schema: it is not JSON: ");
}

TEST(json_schema, schemas_without_instances_are_refused) {
  for (const char* schema :
       {"false", R"({"type":"integer","minimum":5,"maximum":4})", R"({"type":"string","minLength":3,"maxLength":2})",
        R"({"allOf":[{"type":"string"},{"type":"integer"}]})", R"({"type":"object","properties":{"a":false},"required":["a"]})",
        R"({"enum":[1,2],"type":"string"})", R"({"type":"string","pattern":"^a","const":"b"})",
        R"({"type":"array","items":false,"minItems":1})", R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})",
        R"({"type":"integer","multipleOf":10,"minimum":1,"maximum":9})",
        R"({"type":"object","propertyNames":{"maxLength":1},"required":["ab"]})"})
    EXPECT_NE(refusal(schema).find("no finite text matches rule"), std::string::npos) << schema << ": " << refusal(schema);
}

TEST(json_schema, properties_beside_the_declared_ones_are_not_declared_ones_in_disguise) {
  const Grammar g(json_schema_text(R"({"type":"object","properties":{"ab":{"type":"integer"}}})"));
  EXPECT_FALSE(g.matches(R"({"ab":"x"})"));
  EXPECT_FALSE(g.matches(R"({"\u0061b":"x"})"));
  EXPECT_TRUE(g.matches(R"({"ab":1,"a":"x","abc":"x"})"));
}

}  // namespace
}  // namespace hearth::text::grammar
