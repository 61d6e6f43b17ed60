// Tokens to a tree, by the grammar of Jinja2 3.1.
#pragma once

#include <string_view>
#include <vector>

#include "text/template/syntax/lexer.h"
#include "text/template/syntax/tree.h"

namespace hearth::text::jinja {

// TemplateError (Failure::syntax) with its line, or UnsupportedError that names a construct of Jinja2 that hearth does not have and its
// line. What the names mean is resolved.
Tree parse(std::string_view source);

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  Block run();

 private:
  // statements: parser_statements.cpp
  Block statements(std::vector<std::string_view> end_words);
  Block body(std::vector<std::string_view> end_words);  // behind a tag's opening: its end, then statements
  Block body_to(std::string_view end_word);             // and takes the end word
  Statement statement();
  Statement set_statement();
  Statement for_statement();
  Statement if_statement();
  Statement macro_statement();
  Statement call_statement();
  Statement filter_statement();
  Statement generation_statement();
  Statement loop_control();
  Parameters parameters();
  Block macro_body(std::string_view end_word);
  [[noreturn]] void unknown_tag(const Token& token);
  [[noreturn]] void missing_end(const std::string& start, int line);

  // targets of assignments
  ExpressionPtr target(bool with_namespace, std::string_view end_word = {});
  ExpressionPtr copy_of_target(const Expression& target);
  void check_target(const Expression& target, int line);

  // expressions: parser_expressions.cpp
  ExpressionPtr expression(bool with_conditional = true);
  ExpressionPtr conditional();
  ExpressionPtr either();
  ExpressionPtr both();
  ExpressionPtr negated();
  ExpressionPtr compared();
  ExpressionPtr sum();
  ExpressionPtr joined();
  ExpressionPtr product();
  ExpressionPtr factor();
  ExpressionPtr unary(bool with_filter = true);
  ExpressionPtr primary(bool with_namespace = false);
  ExpressionPtr tuple(bool with_conditional = true, bool in_parentheses = false);
  ExpressionPtr tuple_of(const std::function<ExpressionPtr()>& item, std::string_view end_word, bool in_parentheses);
  ExpressionPtr list();
  ExpressionPtr dict();
  ExpressionPtr postfix(ExpressionPtr e);
  ExpressionPtr filtered(ExpressionPtr e);
  ExpressionPtr subscript(ExpressionPtr e);
  ExpressionPtr subscribed();
  ExpressionPtr filter(ExpressionPtr input, bool begun = false);
  ExpressionPtr test(ExpressionPtr input);
  ExpressionPtr called(ExpressionPtr callee);
  CallArguments call_arguments();
  std::string dotted_name();

  // the stream
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& next();
  bool skip_symbol(std::string_view symbol);
  bool skip_name(std::string_view name);
  const Token& expect_symbol(std::string_view symbol);
  const Token& expect_name();
  const Token& expect_word(std::string_view name);
  void expect_end(Token::Type type);
  [[noreturn]] void wrong(std::string message, int line) const;
  [[noreturn]] void not_expected(std::string_view wanted) const;

  ExpressionPtr make(int line, Expression::Node node);

  // A filter or test that nobody knows is an error, unless it stands inside an `if`, where it is one only when it is reached.
  struct Unknown {
    std::string message;
    int line;
  };
  void refuse_unknown(size_t from);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;  // of recursion in this parser
  int loops_ = 0;  // around the current place
  std::vector<Unknown> unknown_;
  std::vector<std::string> open_tags_;
  std::vector<std::vector<std::string_view>> end_words_;
};

}  // namespace hearth::text::jinja
