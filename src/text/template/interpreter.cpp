// Statements.
#include "text/template/interpreter.h"

#include "text/template/loop.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

class Interpreter::Inside {
 public:
  Inside(Interpreter& interpreter, std::shared_ptr<Frame> frame)
      : interpreter_(interpreter), outer_(std::exchange(interpreter.frame_, std::move(frame))) {}
  ~Inside() { interpreter_.frame_ = std::move(outer_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Interpreter& interpreter_;
  std::shared_ptr<Frame> outer_;
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

Interpreter::Interpreter(const Tree& tree, const Dict& variables, const Environment& environment)
    : tree_(tree), frame_(std::make_shared<Frame>(nullptr, int(tree.context.size()))) {
  const Dict globals =
      global_functions(environment.now, [this](std::shared_ptr<SpaceObject> space) { spaces_.push_back(std::move(space)); });
  for (size_t i = 0; i < tree.context.size(); ++i) {
    const Value* given = variables.named(tree.context[i]);
    if (const Value* value = given ? given : globals.named(tree.context[i])) frame_->variables[i] = *value;
  }
}

Interpreter::~Interpreter() {
  // Nothing is destroyed while its owner is: a chain of namespaces could be as long as memory.
  std::vector<Dict> entries;
  for (const auto& space : spaces_) entries.push_back(std::exchange(space->entries, {}));
  std::vector<std::vector<Value>> variables;
  for (const auto& frame : captured_frames_) variables.push_back(std::exchange(frame->variables, {}));
}

std::string Interpreter::run() {
  const Inside inside(*this, std::make_shared<Frame>(frame_, tree_.scope.frame_size));
  Capturing output(*this);
  execute(tree_.body, tree_.scope);
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

Interpreter::Flow Interpreter::execute(const Block& block, const Scope& scope) {
  begin(scope);
  const Flow flow = execute(block);
  if (flow == Flow::on) end(scope);
  return flow;
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
  const Value value = evaluate(*node.value);
  if (value.is_text()) out_->write(value.text());
  else out_->write(str(value));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const Set& node) {
  require_spaces(*node.target);
  assign(*node.target, evaluate(*node.value));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const SetBlock& node) {
  Value value;
  begin(node.scope);
  {
    Capturing body(*this);
    if (const Flow flow = execute(node.body); flow != Flow::on) return flow;
    value = node.filter ? filtered_text(*node.filter, body.text()) : Value(body.text());
  }
  end(node.scope);
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
  const auto loop = std::make_shared<LoopObject>(node.condition ? selected(node, iterable) : iterable);
  bool completed = false;  // some pass, to its end: `else` is also for a loop whose every pass was left early
  for (Value item; loop->next(item);) {
    count_steps();
    if (node.uses_loop) variable({0, node.loop}) = Value(Kind::loop, loop);
    assign(*node.target, item);
    begin(node.scope);
    const Flow flow = execute(node.body);
    if (flow == Flow::broken) break;
    completed = completed || flow == Flow::on;
  }
  end(node.scope);
  if (!completed) execute(node.otherwise, node.otherwise_scope);
  return Flow::on;
}

// The elements for which the loop's own condition holds, asked when each is fetched.
Value Interpreter::selected(const For& node, const Value& iterable) {
  return Value::iterator(
      "generator",
      [this, &condition = *node.condition, next = iterate(iterable),
       frame = std::make_shared<Frame>(captured_frame(), node.condition->scope.frame_size)](Value& item) {
        const Inside inside(*this, frame);
        begin(condition.scope);
        while (next(item)) {
          assign(*condition.target, item);
          if (truth(evaluate(*condition.test))) return true;
        }
        return false;
      },
      iterable);
}

Interpreter::Flow Interpreter::run_node(const Macro& node) {
  variable(node.name.place) = make_macro(node);
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const CallBlock& node) {
  const Value caller = make_macro(node.caller);
  out_->write(str(call_with(std::get<CallOf>(node.call->node), &caller)));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const FilterBlock& node) {
  Value result;
  begin(node.scope);
  {
    Capturing body(*this);
    if (const Flow flow = execute(node.body); flow != Flow::on) return flow;
    result = filtered_text(*node.filter, body.text());
  }
  end(node.scope);
  out_->write(str(result));
  return Flow::on;
}

Interpreter::Flow Interpreter::run_node(const Generation& node) {
  Arguments none;
  out_->write(call_macro(node.body, frame_, none));
  return Flow::on;
}

Value& Interpreter::variable(Place place) {
  Frame* frame = frame_.get();
  for (int i = 0; i < place.out; ++i) frame = frame->parent.get();
  return frame->variables[size_t(place.index)];
}

void Interpreter::begin(const Scope& scope) {
  count_steps(scope.variables.size());
  for (const auto& [index, start, source] : scope.variables)
    if (start != Scope::Start::given) variable({0, index}) = start == Scope::Start::copied ? variable(source) : Value();
}

// What a macro that outlives the block still sees.
void Interpreter::end(const Scope& scope) {
  for (const auto& own : scope.variables) variable({0, own.index}) = Value();
}

void Interpreter::require_spaces(const Expression& target) {
  if (const auto* attribute = std::get_if<NamespaceAttribute>(&target.node)) {
    if (!variable(attribute->space.place).is(Kind::space)) refuse(Failure::runtime, "cannot assign attribute on non-namespace object");
  } else if (const auto* several = std::get_if<TupleOf>(&target.node)) {
    for (const ExpressionPtr& item : several->items) require_spaces(*item);
  }
}

void Interpreter::assign(const Expression& target, const Value& value) {
  if (const auto* name = std::get_if<Name>(&target.node)) {
    variable(name->place) = value;
  } else if (const auto* attribute = std::get_if<NamespaceAttribute>(&target.node)) {
    require_spaces(target);
    variable(attribute->space.place).as<SpaceObject>().set(attribute->attribute, value);
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

const std::shared_ptr<Frame>& Interpreter::captured_frame() {
  if (captured_frames_.empty() || captured_frames_.back() != frame_) captured_frames_.push_back(frame_);
  return frame_;
}

Value Interpreter::make_macro(const Macro& macro) {
  FunctionObject::Body body = [this, &macro, outer = captured_frame()](Arguments& arguments) {
    return Value(call_macro(macro, outer, arguments));
  };
  return {Kind::function, std::make_shared<FunctionObject>("Macro", macro.name.name, std::move(body))};
}

std::string Interpreter::call_macro(const Macro& macro, const std::shared_ptr<Frame>& outer, Arguments& arguments) {
  const Inside inside(*this, std::make_shared<Frame>(outer, macro.scope.frame_size));
  const auto& names = macro.parameters.names;
  const auto& defaults = macro.parameters.defaults;
  const auto title = [&] { return macro.name.name.empty() ? "None" : repr_text(macro.name.name); };
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
  if (!arguments.named.empty()) {
    for (const auto& [name, value] : arguments.named) {
      if (name == "caller")
        refuse(Failure::type, "macro {} was invoked with two values for the special caller argument. This is most likely a bug.", title());
    }
    refuse(Failure::type, "macro {} takes no keyword argument {}", title(), repr_text(arguments.named.front().first));
  }
  if (arguments.positional.size() > names.size())
    refuse(Failure::type, "macro {} takes not more than {} argument(s)", title(), names.size());

  std::vector<Value>& variables = frame_->variables;
  for (size_t i = 0; i < names.size(); ++i)
    if (given[i]) variables[i] = *given[i];
  if (caller) variables[names.size()] = *caller;
  begin(macro.scope);
  const size_t first_default = names.size() - defaults.size();
  for (size_t i = 0; i < names.size(); ++i) {
    if (given[i]) continue;
    variables[i] = i >= first_default ? evaluate(*defaults[i - first_default])
                                      : make_undefined(fmt::format("parameter {} was not provided", repr_text(names[i])));
  }

  Capturing output(*this);
  execute(macro.body);
  return output.text();
}

}  // namespace hearth::text::jinja
