#include "weights/torch/pickle.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/files.h"

namespace hearth {
namespace {

using test::message_of;
using Kind = PickleValue::Kind;

// A string literal with its NUL bytes.
template <size_t n> std::string bytes(const char (&text)[n]) { return {text, n - 1}; }

std::string described(const PickleValue& v, int depth = 0) {
  if (depth > 5) return "…";
  if (v.kind == Kind::text) return fmt::format("'{}'", v.text);
  if (v.kind == Kind::bytes) return fmt::format("b'{}'", v.text);
  if (v.kind == Kind::integer) return std::to_string(v.integer);
  if (v.kind == Kind::big_integer) return fmt::format("large {}", v.text.size());
  if (v.kind == Kind::real) return fmt::format("{}", v.real);
  if (v.kind == Kind::none || v.kind == Kind::boolean || v.kind == Kind::global) return v.describe();
  constexpr std::string_view brackets[] = {"()", "[]", "{}", "{:}", "", "call()", "persistent()"};
  const std::string_view b = brackets[size_t(v.kind) - size_t(Kind::tuple)];
  std::string text(b.substr(0, b.size() - 1));
  for (size_t i = 0; i < v.items.size(); ++i)
    text += fmt::format("{}{}",
                        i == 0                          ? ""
                        : v.kind == Kind::dict && i % 2 ? ": "
                                                        : ", ",
                        v.items[i] ? described(*v.items[i], depth + 1) : "+");
  return text + b.back();
}

std::string read(const std::string& pickle) { return described(Pickle::read(pickle, "f").value()); }
std::string told(const std::string& pickle) {
  const std::string message = message_of<IoError>([&] { Pickle::read(pickle, "f"); });
  const size_t at = message.find("at byte ");
  return at == message.npos ? message : message.substr(at + 8);
}

TEST(Pickle, numbers) {
  EXPECT_EQ(read("N."), "None");
  EXPECT_EQ(read("(\x88\x89t."), "(True, False)");
  EXPECT_EQ(read(bytes("(K\xffM\xff\xffJ\xff\xff\xff\xffJ\xff\xff\xff\x7ft.")), "(255, 65535, -1, 2147483647)");
  EXPECT_EQ(read(bytes("(\x8a\0\x8a\1\x80\x8a\1\x7f\x8a\2\xff\0t.")), "(0, -128, 127, 255)");
  EXPECT_EQ(read(bytes("(\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x8a\x09\0\0\0\0\0\0\0\0\x01\x8b\x01\0\0\0\xfet.")),
            "(9223372036854775807, large 9, -2)");
  EXPECT_EQ(read(bytes("G\x3f\xf8\0\0\0\0\0\0.")), "1.5");
  EXPECT_EQ(read("(I01\nI00\nI-7\nI1\nL-12L\nL7\nL123456789012345678901L\nF-2.5e3\nt."), "(True, False, -7, 1, -12, 7, large 21, -2500)");
}

TEST(Pickle, texts) {
  EXPECT_EQ(read(bytes("(U\2abX\2\0\0\0\xc3\xa9\x8c\1z\x8d\1\0\0\0\0\0\0\0yT\1\0\0\0qt.")), "('ab', 'é', 'z', 'y', 'q')");
  EXPECT_EQ(read(bytes("(C\2abB\1\0\0\0c\x8e\1\0\0\0\0\0\0\0d\x96\1\0\0\0\0\0\0\0et.")), "(b'ab', b'c', b'd', b'e')");
  EXPECT_EQ(read("(S'a\\'\\n\\x41\\\\'\nS\"b\"\nV\\u00e9\\U0001f600\xe9\\\nt."), "('a'\nA\\', 'b', 'é😀é\\')");
  EXPECT_EQ(read("V\\ud800\n."), "'\ufffd'");  // half of a surrogate pair, which UTF-8 cannot encode
  // A text that is not UTF-8 becomes bytes.
  for (const char* bad : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "a\x80"}) {
    const std::string s = bad;
    EXPECT_EQ(Pickle::read(fmt::format("U{}{}.", char(s.size()), s), "f").value().kind, Kind::bytes) << s.size();
  }
  for (const char* good : {"\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80", "\xc2\x80", "\x7f"}) {
    const std::string s = good;
    EXPECT_EQ(Pickle::read(fmt::format("U{}{}.", char(s.size()), s), "f").value().kind, Kind::text) << s.size();
  }
}

TEST(Pickle, containers) {
  EXPECT_EQ(read(")."), "()");
  EXPECT_EQ(read("K\1\x85."), "(1)");
  EXPECT_EQ(read("K\1K\2\x86."), "(1, 2)");
  EXPECT_EQ(read("K\1K\2K\3\x87."), "(1, 2, 3)");
  EXPECT_EQ(read("]K\1a(K\2K\3e."), "[1, 2, 3]");
  EXPECT_EQ(read("(K\1K\2l."), "[1, 2]");
  EXPECT_EQ(read("\x8f(K\1K\2\x90."), "{1, 2}");
  EXPECT_EQ(read("(K\1\x91."), "{1}");
  EXPECT_EQ(read("}K\1K\2s(K\3NK\4]u."), "{:1: 2, 3: None, 4: []}");
  EXPECT_EQ(read("(K\1K\2d."), "{:1: 2}");
  EXPECT_EQ(read("K\1K\2K\3"
                 "0\x86."),
            "(1, 2)");
  EXPECT_EQ(read("K\1(K\2K\3"
                 "1."),
            "1");
  EXPECT_EQ(read("K\1(0."), "1");
  EXPECT_EQ(read("K\1"
                 "2\x86."),
            "(1, 1)");
}

TEST(Pickle, memo) {
  EXPECT_EQ(read(bytes("U\1aq\5U\1bq\6h\5h\6\x87.")), "('b', 'a', 'b')");
  EXPECT_EQ(read(bytes("U\1ar\0\1\0\0j\0\1\0\0\x86.")), "('a', 'a')");
  EXPECT_EQ(read(bytes("U\1a\x94U\1b\x94h\0h\1\x87.")), "('b', 'a', 'b')");
  EXPECT_EQ(read("U\1ap300\ng300\n\x86."), "('a', 'a')");
  EXPECT_EQ(read("U\1aq\1K\2q\1h\1\x86."), "(2, 2)");
  EXPECT_EQ(read(bytes("U\1aq\0U\1bq\0\x94h\1\x86.")), "('b', 'b')");  // MEMOIZE uses the number of entries as the index
  EXPECT_EQ(read("]q\1h\1a."), "[[[[[[…]]]]]]");
  EXPECT_EQ(read(bytes("]\x94(K\1h\0e.")), "[1, [1, [1, [1, [1, […, …]]]]]]");
}

TEST(Pickle, calls_are_recorded) {
  EXPECT_EQ(read("cos\nsystem\n(U\1xtR."), "call(os.system, ('x'))");
  EXPECT_EQ(read("\x8c\2os\x8c\6system\x93U\1x\x85R."), "call(os.system, ('x'))");
  EXPECT_EQ(read("ca\nb\n)\x81K\1b."), "call(a.b, (), +, 1)");
  EXPECT_EQ(read("ca\nb\n)}\x92."), "call(a.b, ((), {:}))");
  EXPECT_EQ(read("(ca\nb\nK\1K\2o."), "call(a.b, (1, 2))");
  EXPECT_EQ(read("(K\1ia\nb\n."), "call(a.b, (1))");
  EXPECT_EQ(read("ca\nb\n)RK\1K\2s(K\3K\4uK\5a(K\6K\7e."), "call(a.b, (), 1, 2, 3, 4, +, 5, +, 6, +, 7)");
  EXPECT_EQ(read("}K\1b."), "{:}");  // the attributes of a dict
  EXPECT_EQ(read("K\1Q."), "persistent(1)");
  EXPECT_EQ(read("Pkey\n."), "persistent('key')");
  const Pickle pickle = Pickle::read("ca\nb\n)RK\1Qcc\nd\n\x87.and more", "f");
  ASSERT_EQ(pickle.globals().size(), 2u);
  EXPECT_TRUE(pickle.globals()[1]->is_global("c", "d"));
  EXPECT_FALSE(pickle.globals()[1]->is_global("c", "b"));
  EXPECT_EQ(pickle.persistents().size(), 1u);
  EXPECT_TRUE(pickle.value().items[0]->is_call("a", "b"));
  EXPECT_FALSE(pickle.value().items[0]->is_call("a", "d"));
  EXPECT_EQ(pickle.bytes(), 17u);
}

TEST(Pickle, values_are_described) {
  const auto says = [](const std::string& pickle) { return Pickle::read(pickle, "f").value().describe(); };
  EXPECT_EQ(says("K\3."), "the integer 3");
  EXPECT_EQ(says("]K\1a."), "a list of 1");
  EXPECT_EQ(says("}K\1K\2s."), "a dict of 1");
  EXPECT_EQ(says("ca\nb\n)R)R."), "a call of what a call returns");
  EXPECT_EQ(says("K\1)R."), "a call of the integer 1");
  EXPECT_EQ(says("c\xff\nb\n."), "bytes.b");
  std::string far;
  for (int i = 0; i < 60; ++i) far += "é";
  far.insert(0, 1, 'a');  // a cut after 100 bytes would be inside a character
  EXPECT_EQ(says(fmt::format("U{}{}.", char(far.size()), far)), fmt::format("the text '{}…'", far.substr(0, 99)));
}

TEST(Pickle, pickles_that_python_refuses) {
  EXPECT_EQ(told(""), "0 needs 1 bytes, 0 are left: the file is cut off or not a pickle");
  EXPECT_EQ(told("K"), "0 needs 1 bytes, 0 are left: the file is cut off or not a pickle");
  EXPECT_EQ(told("."), "0 needs a value, but the stack is empty");
  EXPECT_EQ(told("\xff."), "0 has the code 0xff, which does not exist: the file is damaged or not a pickle");
  EXPECT_EQ(told("N\x86."), "1 needs a value, but the stack is empty");
  EXPECT_EQ(told("N(\x85."), "2 needs a value, but the stack is empty");  // not below a mark
  EXPECT_EQ(told("N(."), "2 needs a value, but the stack is empty");
  EXPECT_EQ(told("Nt."), "1 needs a mark, but the stack has none");
  EXPECT_EQ(told("h\1."), "0 reads the memo entry 1, which does not exist");
  EXPECT_EQ(told("Nq\2h\1."), "3 reads the memo entry 1, which does not exist");
  EXPECT_EQ(told("Ng-1\n."), "1 reads the memo entry 18446744073709551615, which does not exist");
  EXPECT_EQ(told(bytes("Nr\xff\xff\xff\xff.")), "1 uses the memo index 4294967295, at most 16777216 are allowed");
  EXPECT_EQ(told("q\1."), "0 needs a value, but the stack is empty");
  EXPECT_EQ(told("NNa."), "2 appends to None");
  EXPECT_EQ(told("]NNs."), "3 sets an item of a list of 0");
  EXPECT_EQ(told("}(Nu."), "3 has a key without a value");
  EXPECT_EQ(told("NNR."), "2 calls with None, expected a tuple");
  EXPECT_EQ(told("(o."), "1 calls nothing");
  EXPECT_EQ(told("NN\x93."), "2 names a global by None and None");
  EXPECT_EQ(told("cos"), "0 has no line end: the file is cut off or not a pickle");
  EXPECT_EQ(told("I1x\n."), "0 has '1x', expected a number");
  EXPECT_EQ(told("L1234567890123456789x\n."), "0 has '1234567890123456789x', expected a number");
  EXPECT_EQ(told("Fx\n."), "0 has 'x', expected a number");
  EXPECT_EQ(told("Sx\n."), "0 has a text without quotes");
  EXPECT_EQ(told("S'\\xg1'\n."), "0 has a broken escape");
  EXPECT_EQ(told("V\\u12\n."), "0 has a broken escape");
  EXPECT_EQ(told("V\\Uffffffff\n."), "0 has a broken escape");
  EXPECT_EQ(told(bytes("\x8e\xff\xff\xff\xff\xff\xff\xff\xff.")),
            "0 needs 18446744073709551615 bytes, 1 are left: the file is cut off or not a pickle");
  EXPECT_EQ(told(bytes("\x95\2\0\0\0\0\0\0\0N.")), "");
  EXPECT_EQ(told(bytes("\x95\3\0\0\0\0\0\0\0N.")), "0 announces 3 bytes, 2 are left: the file is cut off");
  const auto unsupported = [](const std::string& pickle) { return message_of<UnsupportedError>([&] { Pickle::read(pickle, "f"); }); };
  EXPECT_EQ(unsupported("\x80\6N."), "f: is a pickle of protocol 6, expected 0 to 5");
  EXPECT_NE(unsupported("\x82\1.").find("extension code"), std::string::npos);
  EXPECT_NE(unsupported("\x97.").find("outside the file"), std::string::npos);
}

// Time and memory are bounded for every pickle.
TEST(Pickle, bounds) {
  EXPECT_EQ(told(std::string(Pickle::max_values + 1, 'N') + "."), std::to_string(Pickle::max_values) + " creates more than 4194304 values");
  EXPECT_EQ(told(std::string(1, 'N') + std::string(Pickle::max_instructions, '2')),
            std::to_string(Pickle::max_instructions - 1) + " has more than 16777216 instructions");
  const Pickle deep = Pickle::read(std::string(1000000, ']') + std::string(999999, 'a') + ".", "f");
  EXPECT_EQ(deep.value().items.size(), 1u);
}

}  // namespace
}  // namespace hearth
