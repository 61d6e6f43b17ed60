// Statements.
#include "text/template/interpreter.h"

#include "text/template/loop.h"
#include "text/template/printing.h"

namespace hearth::text::jinja {

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope; scope = scope->parent.get())
    for (const auto& [known, value] : scope->variables)
      if (known == name) return &value;
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  for (auto& [known, old] : variables) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  taken.more(sizeof(variables[0]));
  variables.emplace_back(name, std::move(value));
}

class Interpreter::Inside {
 public:
  Inside(Interpreter& interpreter, std::shared_ptr<Scope> scope)
      : interpreter_(interpreter), outer_(std::exchange(interpreter.scope_, std::move(scope))) {}
  explicit Inside(Interpreter& interpreter) : Inside(interpreter, std::make_shared<Scope>(interpreter.scope_)) {}
  ~Inside() { interpreter_.scope_ = std::move(outer_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Interpreter& interpreter_;
  std::shared_ptr<Scope> outer_;
};

class Interpreter::Capturing {
 public:
  explicit Capturing(Interpreter& interpreter) : interpreter_(interpreter), outer_(std::exchange(interpreter.out_, &output_)) {}
  ~Capturing() { interpreter_.out_ = outer_; }
  Capturing(const Capturing&) = delete;
  Capturing& operator=(const Capturing&) = delete;
  std::string text() { return std::move(output_.text); }

 private:
  Interpreter& interpreter_;
  Output output_;
  Output* outer_;
};

Interpreter::Interpreter(const Block& tree, const Dict& variables, const Environment& environment)
    : tree_(tree),
      variables_(variables),
      globals_(global_functions(environment.now, [this](std::shared_ptr<SpaceObject> space) { spaces_.push_back(std::move(space)); })),
      scope_(std::make_shared<Scope>(nullptr)) {}

Interpreter::~Interpreter() {
  // Nothing is destroyed while its owner is: a chain of namespaces could be as long as memory.
  std::vector<Dict> entries;
  for (const auto& space : spaces_) entries.push_back(std::exchange(space->entries, {}));
  std::vector<std::vector<std::pair<std::string, Value>>> variables;
  for (const auto& scope : captured_scopes_) variables.push_back(std::exchange(scope->variables, {}));
}

std::string Interpreter::run() {
  Capturing output(*this);
  execute(tree_);
  return output.text();
}

void Interpreter::Output::write(std::string_view more) {
  taken.more(more.size());
  text += more;
}

Interpreter::Flow Interpreter::execute(const Block& block) {
  for (const Statement& statement : block)
    if (const Flow flow = execute(statement); flow != Flow::on) return flow;
  return Flow::on;
}

Interpreter::Flow Interpreter::execute(const Statement& statement) {
  const Deeper deeper;
  count_steps();
  const int outer = std::exchange(line_, statement.line);
  const Flow flow = std::visit([this](const auto& node) { return run_node(node); }, statement.node);
  line_ = outer;
  return flow;
}

Interpreter::Flow Interpreter::run_node(const Data& node) {
  out_->write(node.text);
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const Print& node) {
  for (const ExpressionPtr& e : node.values) {
    const Value value = evaluate(*e);
    if (value.is_text()) out_->write(value.text());
    else out_->write(str(value));
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const Set& node) {
  assign(*node.target, evaluate(*node.value));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const SetBlock& node) {
  Value value;
  {
    const Inside inside(*this);
    Capturing body(*this);
    if (const Flow flow = execute(node.body); flow != Flow::on) return flow;
    value = node.filter ? filtered_text(*node.filter, body.text()) : Value(body.text());
  }
  assign(*node.target, value);
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const If& node) {
  for (const auto& [condition, block] : node.branches)
    if (truth(evaluate(*condition))) return execute(block);
  return execute(node.otherwise);
}

Interpreter::Flow Interpreter::run_node(const For& node) {
  const Value iterable = evaluate(*node.iterable);
  if (!node.recursive) run_loop(node, iterable, 0);
  else out_->write(repeat(node, scope_, iterable, 0));
  return Flow::on;
}

std::string Interpreter::repeat(const For& node, const std::shared_ptr<Scope>& scope, const Value& iterable, int64_t depth0) {
  const Inside inside(*this, scope);
  Capturing output(*this);
  run_loop(node, iterable, depth0);
  return output.text();
}

// The elements for which the loop's own condition holds, asked when each is fetched.
Value Interpreter::selected(const For& node, const Value& iterable) {
  return Value::iterator(
      "generator",
      [this, &node, next = iterate(iterable), scope = scope_](Value& item) {
        while (next(item)) {
          const Inside inside(*this, std::make_shared<Scope>(scope));
          assign(*node.target, item);
          if (truth(evaluate(*node.test))) return true;
        }
        return false;
      },
      iterable);
}

void Interpreter::run_loop(const For& node, const Value& iterable, int64_t depth0) {
  LoopObject::Recurse recurse;
  if (node.recursive) {
    recurse = [this, &node, scope = scope_, depth0](const Value& again) { return Value(repeat(node, scope, again, depth0 + 1)); };
  }
  const auto loop = std::make_shared<LoopObject>(node.test ? selected(node, iterable) : iterable, depth0, std::move(recurse));
  struct Forget {
    ~Forget() { loop.forget(); }
    LoopObject& loop;
  } const forget{*loop};

  bool completed = false;  // some pass, to its end: `else` is also for a loop whose every pass was left early
  for (Value item; loop->next(item);) {
    count_steps();
    const Inside inside(*this);
    scope_->set("loop", Value(Kind::loop, loop));
    assign(*node.target, item);
    const Flow flow = execute(node.body);
    if (flow == Flow::broken) break;
    completed = completed || flow == Flow::on;
  }
  if (completed) return;
  const Inside inside(*this);
  execute(node.otherwise);
}

Interpreter::Flow Interpreter::run_node(const Macro& node) {
  scope_->set(node.name, make_macro(node));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const CallBlock& node) {
  const Value caller = make_macro(node.caller);
  out_->write(str(call_with(std::get<CallOf>(node.call->node), &caller)));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const FilterBlock& node) {
  const Inside inside(*this);
  Value result;
  {
    Capturing body(*this);
    if (const Flow flow = execute(node.body); flow != Flow::on) return flow;
    result = filtered_text(*node.filter, body.text());
  }
  out_->write(str(result));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const With& node) {
  List values;
  for (const auto& [target, value] : node.targets) values.push_back(evaluate(*value));
  const Inside inside(*this);
  for (size_t i = 0; i < values.size(); ++i) assign(*node.targets[i].first, values[i]);
  return execute(node.body);
}

Interpreter::Flow Interpreter::run_node(const Generation& node) {
  const Inside inside(*this);
  return execute(node.body);
}

void Interpreter::assign(const Expression& target, const Value& value) {
  if (const auto* name = std::get_if<Name>(&target.node)) {
    scope_->set(name->name, value);
  } else if (const auto* attribute = std::get_if<NamespaceAttribute>(&target.node)) {
    const Value space = value_of(Name{attribute->name});
    if (!space.is(Kind::space)) refuse(Failure::runtime, "cannot assign attribute on non-namespace object");
    space.as<SpaceObject>().set(attribute->attribute, value);
  } else {
    const auto& targets = std::get<TupleOf>(target.node).items;
    if (!is_iterable(value)) refuse(Failure::type, "cannot unpack non-iterable {} object", value.type_name());
    const Next next = iterate(value);
    List items;
    for (Value item; items.size() <= targets.size() && next(item);) items.push_back(std::move(item));
    if (items.size() > targets.size()) refuse(Failure::value, "too many values to unpack (expected {})", targets.size());
    if (items.size() < targets.size())
      refuse(Failure::value, "not enough values to unpack (expected {}, got {})", targets.size(), items.size());
    for (size_t i = 0; i < items.size(); ++i) assign(*targets[i], items[i]);
  }
}

Value Interpreter::make_macro(const Macro& macro) {
  captured_scopes_.push_back(scope_);
  const auto function = std::make_shared<FunctionObject>(
      "Macro", macro.name, [this, &macro, scope = scope_](Arguments& arguments) { return Value(call_macro(macro, scope, arguments)); });
  List names;
  for (const std::string& name : macro.parameters.names) names.emplace_back(name);
  function->attributes.set("name", macro.name.empty() ? Value::none() : Value(macro.name));
  function->attributes.set("arguments", Value::tuple(std::move(names)));
  function->attributes.set("catch_kwargs", macro.uses_kwargs);
  function->attributes.set("catch_varargs", macro.uses_varargs);
  function->attributes.set("caller", macro.uses_caller);
  return {Kind::function, function};
}

std::string Interpreter::call_macro(const Macro& macro, const std::shared_ptr<Scope>& scope, Arguments& arguments) {
  const Inside inside(*this, std::make_shared<Scope>(scope));
  const auto& names = macro.parameters.names;
  const auto& defaults = macro.parameters.defaults;
  const auto take_named = [&](std::string_view name) -> std::optional<Value> {
    for (auto it = arguments.named.begin(); it != arguments.named.end(); ++it) {
      if (it->first != name) continue;
      Value value = std::move(it->second);
      arguments.named.erase(it);
      return value;
    }
    return {};
  };

  std::vector<std::optional<Value>> given(names.size());
  for (size_t i = 0; i < names.size(); ++i) given[i] = i < arguments.positional.size() ? arguments.positional[i] : take_named(names[i]);
  std::optional<Value> caller;
  const bool explicit_caller = std::find(names.begin(), names.end(), "caller") != names.end();
  if (macro.uses_caller && !explicit_caller) {
    caller = take_named("caller");
    if (!caller || caller->is_none()) caller = make_undefined("No caller defined");
  }
  if (!macro.uses_kwargs && !arguments.named.empty()) {
    for (const auto& [name, value] : arguments.named) {
      if (name == "caller")
        refuse(Failure::type, "macro {} was invoked with two values for the special caller argument. This is most likely a bug.",
               macro.name.empty() ? "None" : repr_text(macro.name));
    }
    refuse(Failure::type, "macro {} takes no keyword argument {}", macro.name.empty() ? "None" : repr_text(macro.name),
           repr_text(arguments.named.front().first));
  }
  if (!macro.uses_varargs && arguments.positional.size() > names.size())
    refuse(Failure::type, "macro {} takes not more than {} argument(s)", macro.name.empty() ? "None" : repr_text(macro.name), names.size());

  if (caller) scope_->set("caller", *caller);
  if (macro.uses_kwargs) {
    Dict rest;
    for (auto& [name, value] : arguments.named) rest.set(Value(name), value);
    scope_->set("kwargs", Value::dict(std::move(rest)));
  }
  if (macro.uses_varargs) {
    const size_t used = std::min(names.size(), arguments.positional.size());
    scope_->set("varargs", Value::tuple(List(arguments.positional.begin() + std::ptrdiff_t(used), arguments.positional.end())));
  }
  const size_t first_default = names.size() - defaults.size();
  for (size_t i = 0; i < names.size(); ++i)
    if (given[i]) scope_->set(names[i], *given[i]);
  for (size_t i = 0; i < names.size(); ++i) {
    if (given[i]) continue;
    scope_->set(names[i], i >= first_default ? evaluate(*defaults[i - first_default])
                                             : make_undefined(fmt::format("parameter {} was not provided", repr_text(names[i]))));
  }

  Capturing output(*this);
  execute(macro.body);
  return output.text();
}

}  // namespace hearth::text::jinja
