// Statements: what stands between {% and %}.
#include <array>

#include "text/template/syntax/parser.h"
#include "text/template/syntax/resolve.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

constexpr std::array unsupported_tags = {"block",      "extends", "include",   "import", "from",  "with",
                                         "autoescape", "trans",   "pluralize", "do",     "debug", "print"};

}  // namespace

Tree parse(std::string_view source) { return resolve(Parser(tokenize(source)).run()); }

Block Parser::run() {
  Block block = statements({});
  refuse_unknown(0);
  return block;
}

void Parser::wrong(std::string message, int line) const { throw TemplateError(Failure::syntax, std::move(message), "", line); }

void Parser::not_expected(std::string_view wanted) const {
  if (now().type == Token::Type::end) wrong(fmt::format("unexpected end of template, expected '{}'.", wanted), now().line);
  wrong(fmt::format("expected token '{}', got {}", wanted, repr_text(describe(now()))), now().line);
}

const Token& Parser::next() {
  const Token& token = now();
  if (token.type != Token::Type::end) ++at_;
  return token;
}

bool Parser::skip_symbol(std::string_view symbol) { return now().is_symbol(symbol) && (next(), true); }
bool Parser::skip_name(std::string_view name) { return now().is_name(name) && (next(), true); }

const Token& Parser::expect_symbol(std::string_view symbol) {
  if (!now().is_symbol(symbol)) not_expected(symbol);
  return next();
}

const Token& Parser::expect_name() {
  if (now().type != Token::Type::name) not_expected("name");
  return next();
}

const Token& Parser::expect_word(std::string_view name) {
  if (!now().is_name(name)) not_expected(name);
  return next();
}

void Parser::expect_end(Token::Type type) {
  if (now().type != type) not_expected(type == Token::Type::print_end ? "end of print statement" : "end of statement block");
  next();
}

void Parser::refuse_unknown(size_t from) {
  if (unknown_.size() > from) wrong(unknown_[from].message, unknown_[from].line);
}

Block Parser::statements(std::vector<std::string_view> end_words) {
  Block block;
  end_words_.push_back(end_words);
  if (end_words_.size() > Limits::nesting) wrong(fmt::format("blocks nested more than {} deep", int(Limits::nesting)), now().line);
  while (now().type != Token::Type::end) {
    const Token& token = next();
    if (token.type == Token::Type::data) {
      block.push_back({token.line, Data{token.text}});
    } else if (token.type == Token::Type::print_begin) {
      block.push_back({token.line, Print{tuple()}});
      expect_end(Token::Type::print_end);
    } else {
      const auto ends = [&](std::string_view word) { return now().is_name(word); };
      if (std::any_of(end_words.begin(), end_words.end(), ends)) break;
      block.push_back(statement());
      expect_end(Token::Type::block_end);
    }
  }
  end_words_.pop_back();
  return block;
}

Block Parser::body(std::vector<std::string_view> end_words) {
  skip_symbol(":");
  expect_end(Token::Type::block_end);
  Block block = statements(end_words);
  if (now().type == Token::Type::end) {
    end_words_.push_back(std::move(end_words));
    missing_end("Unexpected end of template.", now().line);
  }
  return block;
}

Block Parser::body_to(std::string_view end_word) {
  Block block = body({end_word});
  next();
  return block;
}

void Parser::missing_end(const std::string& start, int line) {
  std::string message = start;
  if (!end_words_.empty() && !end_words_.back().empty()) {
    std::string wanted;
    for (const std::string_view word : end_words_.back()) wanted += fmt::format("{}'{}'", wanted.empty() ? "" : " or ", word);
    const bool nesting = now().type != Token::Type::end && std::any_of(end_words_.begin(), end_words_.end(), [&](const auto& words) {
                           return std::find(words.begin(), words.end(), now().text) != words.end();
                         });
    message += nesting ? " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for " + wanted + "."
                       : " Jinja was looking for the following tags: " + wanted + ".";
  }
  if (!open_tags_.empty()) message += fmt::format(" The innermost block that needs to be closed is '{}'.", open_tags_.back());
  wrong(std::move(message), line);
}

void Parser::unknown_tag(const Token& token) {
  if (std::find(unsupported_tags.begin(), unsupported_tags.end(), token.text) != unsupported_tags.end())
    throw Unsupported{fmt::format("the tag '{}'", token.text), token.line};
  missing_end(fmt::format("Encountered unknown tag {}.", repr_text(token.text)), token.line);
}

Statement Parser::statement() {
  const Token& token = now();
  if (token.type != Token::Type::name) wrong("tag name expected", token.line);
  static constexpr std::pair<std::string_view, Statement (Parser::*)()> tags[] = {
      {"set", &Parser::set_statement},
      {"for", &Parser::for_statement},
      {"if", &Parser::if_statement},
      {"macro", &Parser::macro_statement},
      {"call", &Parser::call_statement},
      {"filter", &Parser::filter_statement},
      {"generation", &Parser::generation_statement},
      {"break", &Parser::loop_control},
      {"continue", &Parser::loop_control},
  };
  for (const auto& [name, parse_tag] : tags) {
    if (token.text != name) continue;
    open_tags_.push_back(token.text);
    Statement result = (this->*parse_tag)();
    open_tags_.pop_back();
    return result;
  }
  unknown_tag(token);
}

Statement Parser::set_statement() {
  const int line = next().line;
  ExpressionPtr to = target(true);
  if (skip_symbol("=")) return {line, Set{std::move(to), tuple()}};
  ExpressionPtr by = now().is_symbol("|") ? filter(nullptr) : nullptr;
  Block content = body_to("endset");
  return {line, SetBlock{std::move(to), std::move(by), std::move(content)}};
}

Statement Parser::for_statement() {
  const int line = next().line;
  const size_t unknown_before = unknown_.size();
  For loop;
  loop.target = target(false, "in");
  expect_word("in");
  loop.iterable = tuple(false);
  if (skip_name("if")) loop.condition = {copy_of_target(*loop.target), expression()};
  if (now().is_name("recursive")) throw Unsupported{"a recursive loop", line};
  ++loops_;
  loop.body = body({"endfor", "else"});
  --loops_;
  if (next().text == "else") loop.otherwise = body_to("endfor");
  refuse_unknown(unknown_before);
  return {line, std::move(loop)};
}

Statement Parser::if_statement() {
  const int line = now().line;
  const size_t unknown_before = unknown_.size();
  If choice;
  do {
    next();
    ExpressionPtr condition = tuple(false);
    Block block = body({"elif", "else", "endif"});
    choice.branches.emplace_back(std::move(condition), std::move(block));
  } while (now().text == "elif");
  if (next().text == "else") choice.otherwise = body_to("endif");
  unknown_.resize(unknown_before);
  return {line, std::move(choice)};
}

Parameters Parser::parameters() {
  Parameters result;
  expect_symbol("(");
  while (!now().is_symbol(")")) {
    if (!result.names.empty()) expect_symbol(",");
    const Token& name = expect_name();
    check_target(*make(name.line, Name{name.text}), name.line);
    if (std::find(result.names.begin(), result.names.end(), name.text) != result.names.end())
      wrong(fmt::format("duplicate argument '{}' in function definition", name.text), name.line);
    result.names.push_back(name.text);
    if (skip_symbol("=")) result.defaults.push_back(expression());
    else if (!result.defaults.empty()) wrong("non-default argument follows default argument", now().line);
  }
  next();
  return result;
}

Block Parser::macro_body(std::string_view end_word) {
  const size_t unknown_before = unknown_.size();
  const int loops = std::exchange(loops_, 0);
  Block block = body_to(end_word);
  loops_ = loops;
  refuse_unknown(unknown_before);
  return block;
}

Statement Parser::macro_statement() {
  const int line = next().line;
  Macro macro;
  const Token& name = expect_name();
  check_target(*make(name.line, Name{name.text}), name.line);
  macro.name = {name.text};
  macro.parameters = parameters();
  macro.body = macro_body("endmacro");
  return {line, std::move(macro)};
}

Statement Parser::call_statement() {
  const int line = next().line;
  CallBlock block;
  if (now().is_symbol("(")) block.caller.parameters = parameters();
  block.call = expression();
  if (!std::holds_alternative<CallOf>(block.call->node)) wrong("expected call", line);
  block.caller.body = macro_body("endcall");
  return {line, std::move(block)};
}

Statement Parser::filter_statement() {
  const int line = next().line;
  ExpressionPtr by = filter(nullptr, true);
  Block content = body_to("endfilter");
  return {line, FilterBlock{std::move(by), std::move(content)}};
}

Statement Parser::generation_statement() {
  const int line = next().line;
  Generation generation;
  generation.body.body = macro_body("endgeneration");
  return {line, std::move(generation)};
}

Statement Parser::loop_control() {
  const Token& token = next();
  if (loops_ == 0) wrong(token.text == "break" ? "'break' outside loop" : "'continue' not properly in loop", token.line);
  if (token.text == "break") return {token.line, Break{}};
  return {token.line, Continue{}};
}

ExpressionPtr Parser::target(bool with_namespace, std::string_view end_word) {
  const int line = now().line;
  ExpressionPtr result = tuple_of([&] { return primary(with_namespace); }, end_word, false);
  check_target(*result, line);
  return result;
}

ExpressionPtr Parser::copy_of_target(const Expression& e) {
  if (const auto* name = std::get_if<Name>(&e.node)) return make(e.line, *name);
  TupleOf copy;
  for (const ExpressionPtr& item : std::get<TupleOf>(e.node).items) copy.items.push_back(copy_of_target(*item));
  return make(e.line, std::move(copy));
}

void Parser::check_target(const Expression& e, int line) {
  if (std::holds_alternative<NamespaceAttribute>(e.node)) return;
  if (const auto* name = std::get_if<Name>(&e.node)) {
    static constexpr std::array constants = {"true", "false", "none", "True", "False", "None"};
    if (std::find(constants.begin(), constants.end(), name->name) != constants.end()) wrong("can't assign to 'name'", line);
    return;
  }
  if (const auto* several = std::get_if<TupleOf>(&e.node)) {
    for (const ExpressionPtr& item : several->items) check_target(*item, line);
    return;
  }
  const char* kind = std::holds_alternative<Constant>(e.node) ? "const" : std::holds_alternative<ListOf>(e.node) ? "list" : "dict";
  wrong(fmt::format("can't assign to '{}'", kind), line);
}

}  // namespace hearth::text::jinja
