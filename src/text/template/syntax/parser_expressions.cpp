// Expressions, by falling precedence of Jinja2: if-else, or, and, not, comparison, + -, ~, * / // %, unary, then what follows a value.
#include "text/template/syntax/parser.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

bool is_any_symbol(const Token& token, std::initializer_list<std::string_view> symbols) {
  return token.type == Token::Type::symbol && std::find(symbols.begin(), symbols.end(), token.text) != symbols.end();
}

// A filter or test; where hearth does not have it, the refusal knows the line.
template <class Function> Function found(Function (*find)(std::string_view), const std::string& name, int line) {
  try {
    return find(name);
  } catch (Unsupported& e) {
    e.line = line;
    throw;
  }
}

}  // namespace

ExpressionPtr Parser::make(int line, Expression::Node node) {
  int depth = 1;
  each_inside(node, [&](const Expression& e) { depth = std::max(depth, 1 + e.depth); });
  if (depth > Limits::nesting) wrong(fmt::format("expressions nested more than {} deep", int(Limits::nesting)), line);
  return std::make_unique<Expression>(Expression{line, depth, std::move(node)});
}

ExpressionPtr Parser::expression(bool with_conditional) {
  if (++depth_ > Limits::nesting) wrong(fmt::format("expressions nested more than {} deep", int(Limits::nesting)), now().line);
  ExpressionPtr result = with_conditional ? conditional() : either();
  --depth_;
  return result;
}

ExpressionPtr Parser::conditional() {
  const int line = now().line;
  const size_t unknown_before = unknown_.size();
  ExpressionPtr result = either();
  while (skip_name("if")) {
    ExpressionPtr condition = either();
    ExpressionPtr otherwise = skip_name("else") ? expression() : nullptr;
    result = make(line, Conditional{std::move(condition), std::move(result), std::move(otherwise)});
    unknown_.resize(unknown_before);
  }
  return result;
}

ExpressionPtr Parser::either() {
  const int line = now().line;
  ExpressionPtr left = both();
  while (skip_name("or")) left = make(line, Either{std::move(left), both()});
  return left;
}

ExpressionPtr Parser::both() {
  const int line = now().line;
  ExpressionPtr left = negated();
  while (skip_name("and")) left = make(line, Both{std::move(left), negated()});
  return left;
}

ExpressionPtr Parser::negated() {
  const int line = now().line;
  int times = 0;
  while (skip_name("not")) ++times;
  ExpressionPtr result = compared();
  for (; times > 0; --times) result = make(line, Not{std::move(result)});
  return result;
}

ExpressionPtr Parser::compared() {
  using Relation = Compared::Relation;
  static constexpr std::pair<std::string_view, Relation> relations[] = {
      {"==", Relation::equal},      {"!=", Relation::not_equal}, {"<", Relation::less},
      {"<=", Relation::less_equal}, {">", Relation::greater},    {">=", Relation::greater_equal},
  };
  const int line = now().line;
  ExpressionPtr first = sum();
  Compared chain;
  while (true) {
    const auto known = [&](const auto& relation) { return now().is_symbol(relation.first); };
    const auto it = std::find_if(std::begin(relations), std::end(relations), known);
    if (it != std::end(relations)) {
      next();
      chain.rest.emplace_back(it->second, sum());
    } else if (skip_name("in")) {
      chain.rest.emplace_back(Relation::in, sum());
    } else if (now().is_name("not") && ahead().is_name("in")) {
      next();
      next();
      chain.rest.emplace_back(Relation::not_in, sum());
    } else {
      break;
    }
  }
  if (chain.rest.empty()) return first;
  chain.first = std::move(first);
  return make(line, std::move(chain));
}

ExpressionPtr Parser::sum() {
  const int line = now().line;
  ExpressionPtr left = joined();
  while (is_any_symbol(now(), {"+", "-"})) {
    const Operator op = next().text == "+" ? Operator::add : Operator::subtract;
    left = make(line, Arithmetic{op, std::move(left), joined()});
  }
  return left;
}

ExpressionPtr Parser::joined() {
  const int line = now().line;
  ExpressionPtr first = product();
  if (!now().is_symbol("~")) return first;
  Joined all;
  all.items.push_back(std::move(first));
  while (skip_symbol("~")) all.items.push_back(product());
  return make(line, std::move(all));
}

ExpressionPtr Parser::product() {
  const int line = now().line;
  ExpressionPtr left = factor();
  while (is_any_symbol(now(), {"*", "/", "//", "%"})) {
    const std::string& symbol = next().text;
    const Operator op = symbol == "*"   ? Operator::multiply
                        : symbol == "/" ? Operator::divide
                        : symbol == "%" ? Operator::modulo
                                        : Operator::floor_divide;
    left = make(line, Arithmetic{op, std::move(left), factor()});
  }
  return left;
}

ExpressionPtr Parser::factor() {
  ExpressionPtr result = unary();
  if (now().is_symbol("**")) throw Unsupported{"the operator '**'", now().line};
  return result;
}

ExpressionPtr Parser::unary(bool with_filter) {
  const int line = now().line;
  ExpressionPtr result;
  if (now().is_symbol("+")) throw Unsupported{"the sign '+'", line};
  if (skip_symbol("-")) {
    if (++depth_ > Limits::nesting) wrong(fmt::format("expressions nested more than {} deep", int(Limits::nesting)), line);
    ExpressionPtr operand = unary(false);
    --depth_;
    result = make(line, Negation{std::move(operand)});
  } else {
    result = primary();
  }
  result = postfix(std::move(result));
  return with_filter ? filtered(std::move(result)) : std::move(result);
}

ExpressionPtr Parser::primary(bool with_namespace) {
  const Token& token = now();
  const int line = token.line;
  switch (token.type) {
    case Token::Type::name: {
      next();
      const std::string& name = token.text;
      if (name == "true" || name == "True") return make(line, Constant{true});
      if (name == "false" || name == "False") return make(line, Constant{false});
      if (name == "none" || name == "None") return make(line, Constant{Value::none()});
      if (with_namespace && skip_symbol(".")) {
        std::string attribute = expect_name().text;
        return make(line, NamespaceAttribute{Name{name}, std::move(attribute)});
      }
      return make(line, Name{name});
    }
    case Token::Type::text: {
      std::string text;
      while (now().type == Token::Type::text) text += next().text;
      return make(line, Constant{Value(std::move(text))});
    }
    case Token::Type::integer:
    case Token::Type::real: return make(line, Constant{next().number});
    default: break;
  }
  if (skip_symbol("(")) {
    ExpressionPtr inner = tuple(true, true);
    expect_symbol(")");
    return inner;
  }
  if (token.is_symbol("[")) return list();
  if (token.is_symbol("{")) return dict();
  wrong(fmt::format("unexpected {}", repr_text(describe(token))), line);
}

ExpressionPtr Parser::tuple(bool with_conditional, bool in_parentheses) {
  return tuple_of([&] { return expression(with_conditional); }, {}, in_parentheses);
}

ExpressionPtr Parser::tuple_of(const std::function<ExpressionPtr()>& item, std::string_view end_word, bool in_parentheses) {
  const int line = now().line;
  const auto at_end = [&] {
    return now().type == Token::Type::print_end || now().type == Token::Type::block_end || now().is_symbol(")") ||
           (!end_word.empty() && now().is_name(end_word));
  };
  TupleOf several;
  bool is_tuple = false;
  while (true) {
    if (!several.items.empty()) expect_symbol(",");
    if (at_end()) break;
    several.items.push_back(item());
    if (!now().is_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!several.items.empty()) return std::move(several.items.front());
    if (!in_parentheses) wrong(fmt::format("Expected an expression, got {}", repr_text(describe(now()))), now().line);
  }
  return make(line, std::move(several));
}

ExpressionPtr Parser::list() {
  const int line = next().line;
  ListOf result;
  while (!now().is_symbol("]")) {
    if (!result.items.empty()) expect_symbol(",");
    if (now().is_symbol("]")) break;
    result.items.push_back(expression());
  }
  next();
  return make(line, std::move(result));
}

ExpressionPtr Parser::dict() {
  const int line = next().line;
  DictOf result;
  while (!now().is_symbol("}")) {
    if (!result.entries.empty()) expect_symbol(",");
    if (now().is_symbol("}")) break;
    ExpressionPtr key = expression();
    expect_symbol(":");
    result.entries.emplace_back(std::move(key), expression());
  }
  next();
  return make(line, std::move(result));
}

ExpressionPtr Parser::postfix(ExpressionPtr e) {
  while (true) {
    if (is_any_symbol(now(), {".", "["})) e = subscript(std::move(e));
    else if (now().is_symbol("(")) e = called(std::move(e));
    else return e;
  }
}

ExpressionPtr Parser::filtered(ExpressionPtr e) {
  while (true) {
    if (now().is_symbol("|")) e = filter(std::move(e));
    else if (now().is_name("is")) e = test(std::move(e));
    else if (now().is_symbol("(")) e = called(std::move(e));
    else return e;
  }
}

ExpressionPtr Parser::subscript(ExpressionPtr e) {
  const Token& token = next();
  if (token.text == ".") {
    const Token& name = next();
    if (name.type == Token::Type::name) return make(token.line, Attribute{std::move(e), name.text});
    if (name.type != Token::Type::integer) wrong("expected name or number", name.line);
    return make(token.line, Subscript{std::move(e), make(name.line, Constant{name.number})});
  }
  TupleOf keys;
  while (!now().is_symbol("]")) {
    if (!keys.items.empty()) expect_symbol(",");
    keys.items.push_back(subscribed());
  }
  next();
  ExpressionPtr key = keys.items.size() == 1 ? std::move(keys.items.front()) : make(token.line, std::move(keys));
  return make(token.line, Subscript{std::move(e), std::move(key)});
}

ExpressionPtr Parser::subscribed() {
  const int line = now().line;
  SliceOf slice;
  if (!now().is_symbol(":")) {
    slice.start = expression();
    if (!now().is_symbol(":")) return std::move(slice.start);
  }
  next();
  if (!is_any_symbol(now(), {":", "]", ","})) slice.stop = expression();
  if (skip_symbol(":") && !is_any_symbol(now(), {"]", ","})) slice.step = expression();
  return make(line, std::move(slice));
}

std::string Parser::dotted_name() {
  std::string name = expect_name().text;
  while (skip_symbol(".")) name += "." + expect_name().text;
  return name;
}

ExpressionPtr Parser::filter(ExpressionPtr input, bool begun) {
  while (begun || skip_symbol("|")) {
    begun = false;
    const int line = now().line;
    FilterOf result{std::move(input), dotted_name(), nullptr, {}};
    result.run = found(find_filter, result.name, line);
    if (!result.run) unknown_.push_back({fmt::format("No filter named '{}'.", result.name), line});
    if (now().is_symbol("(")) result.arguments = call_arguments();
    input = make(line, std::move(result));
  }
  return input;
}

ExpressionPtr Parser::test(ExpressionPtr input) {
  const int line = next().line;
  const bool negate = skip_name("not");
  TestOf result{std::move(input), dotted_name(), nullptr, {}, negate};
  result.run = found(find_test, result.name, line);
  if (!result.run) unknown_.push_back({fmt::format("No test named '{}'.", result.name), line});
  const Token& token = now();
  const bool value = token.type == Token::Type::name || token.type == Token::Type::text || token.type == Token::Type::integer ||
                     token.type == Token::Type::real || is_any_symbol(token, {"[", "{"});
  if (token.is_symbol("(")) {
    result.arguments = call_arguments();
  } else if (value && !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) {
    if (token.is_name("is")) wrong("You cannot chain multiple tests with is", token.line);
    result.arguments.positional.push_back(postfix(primary()));
  }
  return make(line, std::move(result));
}

ExpressionPtr Parser::called(ExpressionPtr callee) {
  const int line = now().line;
  return make(line, CallOf{std::move(callee), call_arguments()});
}

CallArguments Parser::call_arguments() {
  const int line = expect_symbol("(").line;
  CallArguments result;
  const auto ensure = [&](bool fits) {
    if (!fits) wrong("invalid syntax for function call expression", line);
  };
  for (bool first = true; !now().is_symbol(")"); first = false) {
    if (!first) {
      expect_symbol(",");
      if (now().is_symbol(")")) break;
    }
    if (skip_symbol("*")) {
      ensure(!result.rest);
      result.rest = expression();
    } else if (now().is_symbol("**")) {
      throw Unsupported{"** in a call", now().line};
    } else if (now().type == Token::Type::name && ahead().is_symbol("=")) {
      const std::string name = next().text;
      const auto same = [&](const auto& other) { return other.first == name; };
      if (std::any_of(result.named.begin(), result.named.end(), same)) wrong(fmt::format("keyword argument repeated: {}", name), line);
      next();
      result.named.emplace_back(name, expression());
    } else {
      ensure(!result.rest && result.named.empty());
      result.positional.push_back(expression());
    }
  }
  next();
  return result;
}

}  // namespace hearth::text::jinja
