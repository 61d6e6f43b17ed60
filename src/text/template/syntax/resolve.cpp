#include "text/template/syntax/resolve.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <unordered_map>

#include "text/template/failure.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

// The names in an expression; `is_space`: in front of the dot of a target `space.attribute`.
void each_name(Expression& e, const std::function<void(Name&, bool is_space)>& f) {
  if (auto* name = std::get_if<Name>(&e.node)) f(*name, false);
  else if (auto* attribute = std::get_if<NamespaceAttribute>(&e.node)) f(attribute->space, true);
  else each_inside(e.node, [&](Expression& inner) { each_name(inner, f); });
}

// Finds which loops use `loop` and which macros `caller`: those whose body, with all blocks in it, reads the name before anything in it
// sets it. Before: in the order of Jinja2's tree. Refuses macros that use `kwargs` or `varargs`, and a `set` of `loop` inside a for.
class SpecialNames {
 public:
  void visit(Block& block) {
    for (Statement& statement : block) std::visit([&](auto& node) { visit(node, statement.line); }, statement.node);
  }

 private:
  static constexpr std::array<std::string_view, 4> names = {"loop", "caller", "kwargs", "varargs"};
  struct Search {
    std::bitset<names.size()> set, used;
  };

  void read(const ExpressionPtr& e) {
    if (!e) return;
    each_name(*e, [&](const Name& name, bool) {
      if (const size_t i = number(name.name); i < names.size())
        for (Search& search : searches_) search.used[i] = search.used[i] || !search.set[i];
    });
  }
  void set(const Expression& target) {
    if (const auto* name = std::get_if<Name>(&target.node)) {
      if (fors_ > 0 && name->name == "loop")
        throw TemplateError(Failure::syntax, "Can't assign to special loop variable in for-loop target", "", target.line);
      set(name->name);
    } else {
      each_inside(target.node, [this](const Expression& inner) { set(inner); });
    }
  }
  void set(std::string_view name) {
    if (const size_t i = number(name); i < names.size())
      for (Search& search : searches_) search.set[i] = true;
  }
  static size_t number(std::string_view name) { return size_t(std::find(names.begin(), names.end(), name) - names.begin()); }

  std::bitset<names.size()> used_in(Block& body) {
    searches_.emplace_back();
    visit(body);
    const auto used = searches_.back().used;
    searches_.pop_back();
    return used;
  }

  void visit(Macro& node, int line) {
    const auto& parameters = node.parameters.names;
    const auto position = [&](std::string_view name) {
      return size_t(std::find(parameters.begin(), parameters.end(), name) - parameters.begin());
    };
    for (const std::string& name : parameters) set(name);
    for (const ExpressionPtr& e : node.parameters.defaults) read(e);
    const auto used = used_in(node.body);
    node.uses_caller = used[1];
    for (const size_t i : {2, 3})
      if (used[i] && position(names[i]) == parameters.size()) throw Unsupported{fmt::format("'{}' in a macro", names[i]), line};
    if (node.uses_caller && position("caller") < parameters.size() - node.parameters.defaults.size())
      throw TemplateError(Failure::syntax,
                          "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a default.", "",
                          line);
  }

  void visit(Data&, int) {}
  void visit(Break&, int) {}
  void visit(Continue&, int) {}
  void visit(Print& node, int) { read(node.value); }
  void visit(Set& node, int) {
    set(*node.target);
    read(node.value);
  }
  void visit(SetBlock& node, int) {
    set(*node.target);
    read(node.filter);
    visit(node.body);
  }
  void visit(For& node, int) {
    ++fors_;
    set(*node.target);
    read(node.iterable);
    node.uses_loop = used_in(node.body)[0];
    visit(node.otherwise);
    if (node.condition) read(node.condition->test);
    --fors_;
  }
  void visit(If& node, int) {
    for (auto& [test, block] : node.branches) {
      read(test);
      visit(block);
    }
    visit(node.otherwise);
  }
  void visit(CallBlock& node, int line) {
    read(node.call);
    visit(node.caller, line);
  }
  void visit(FilterBlock& node, int) {
    visit(node.body);
    read(node.filter);
  }
  void visit(Generation& node, int line) { visit(node.body, line); }

  std::vector<Search> searches_;
  int fors_ = 0;  // around the current place
};

// The variables of one frame. Blocks side by side share those of one name.
struct FrameLayout {
  int depth;
  std::map<std::pair<int, std::string>, int> indices = {};  // by level of the block and name
};

struct Context {
  Tree& tree;
  std::unordered_map<std::string, int> indices = {};

  int index(const std::string& name) {
    const auto [it, is_new] = indices.emplace(name, int(indices.size()));
    if (is_new) tree.context.push_back(name);
    return it->second;
  }
};

// The names of one block. First `mention` everything that the block itself says (not the blocks in it that have names of their own), then
// `resolve` it.
class Names {
 public:
  Names(Context& context, FrameLayout& frame, Scope& scope, const Names* outer)
      : context_(context), frame_(frame), scope_(scope), outer_(outer), level_(outer ? outer->level_ + 1 : 0) {}

  void mention(Block& block) {
    for (Statement& statement : block) std::visit([this](auto& node) { mention(node); }, statement.node);
  }
  void resolve(Block& block) {
    for (Statement& statement : block) std::visit([&](auto& node) { resolve(node, statement.line); }, statement.node);
  }

 private:
  int add(const std::string& name, Scope::Start start, Place source = {}) {
    const int index = frame_.indices.emplace(std::pair(level_, name), int(frame_.indices.size())).first->second;
    own_.emplace(name, index);
    scope_.variables.push_back({index, start, source});
    return index;
  }

  std::optional<Place> find(const std::string& name) const {
    for (const Names* names = this; names; names = names->outer_)
      if (const auto it = names->own_.find(name); it != names->own_.end()) return Place{frame_.depth - names->frame_.depth, it->second};
    return {};
  }

  int give(const std::string& name) { return add(name, Scope::Start::given); }
  void give(const ExpressionPtr& target) {
    each_name(*target, [this](const Name& name, bool) {
      if (!own_.count(name.name)) give(name.name);
    });
  }
  void read(const Name& name) {
    if (!find(name.name)) add(name.name, Scope::Start::copied, from_context(name.name));
  }
  void read(const ExpressionPtr& e) {
    each_name(*e, [this](const Name& name, bool) { read(name); });
  }
  // Under an `if` that may not be taken, what would be undefined is the caller's instead.
  void set(const Name& name) {
    if (own_.count(name.name)) return;
    if (const auto source = find(name.name)) add(name.name, Scope::Start::copied, *source);
    else if (ifs_ > 0) add(name.name, Scope::Start::copied, from_context(name.name));
    else add(name.name, Scope::Start::missing);
  }
  void set(const ExpressionPtr& target) {
    each_name(*target, [this](const Name& name, bool is_space) { is_space ? read(name) : set(name); });
  }
  Place from_context(const std::string& name) { return {frame_.depth, context_.index(name)}; }

  void mention(Data&) {}
  void mention(Break&) {}
  void mention(Continue&) {}
  void mention(Generation&) {}
  void mention(Print& node) { read(node.value); }
  void mention(Set& node) {
    read(node.value);
    set(node.target);
  }
  void mention(SetBlock& node) { set(node.target); }
  void mention(For& node) { read(node.iterable); }
  void mention(If& node) {
    for (const auto& branch : node.branches) read(branch.first);
    ++ifs_;
    for (auto& branch : node.branches) mention(branch.second);
    mention(node.otherwise);
    --ifs_;
  }
  void mention(Macro& node) { set(node.name); }
  void mention(CallBlock& node) { read(node.call); }
  void mention(FilterBlock& node) { read(node.filter); }

  void resolve(Name& name, int line) {
    const auto place = find(name.name);
    if (!place) {  // only in the filter of a set block, which Jinja2 forgets to look at
      throw TemplateError(Failure::value,
                          fmt::format("Tried to resolve a name to a reference that was unknown to the frame ({})", repr_text(name.name)),
                          "", line);
    }
    name.place = *place;
  }
  void resolve(const ExpressionPtr& e) {
    each_name(*e, [&](Name& name, bool) { resolve(name, e->line); });
  }

  void resolve(Data&, int) {}
  void resolve(Break&, int) {}
  void resolve(Continue&, int) {}
  void resolve(Print& node, int) { resolve(node.value); }
  void resolve(Set& node, int) {
    resolve(node.value);
    resolve(node.target);
  }
  void resolve(SetBlock& node, int) {
    Names inner(context_, frame_, node.scope, this);
    inner.mention(node.body);
    inner.resolve(node.body);
    if (node.filter) inner.resolve(node.filter);
    resolve(node.target);
  }
  void resolve(For& node, int) {
    resolve(node.iterable);
    Names inner(context_, frame_, node.scope, this);
    if (node.uses_loop) node.loop = inner.give("loop");
    inner.give(node.target);
    inner.mention(node.body);
    inner.resolve(node.target);
    inner.resolve(node.body);
    Names otherwise(context_, frame_, node.otherwise_scope, this);
    otherwise.mention(node.otherwise);
    otherwise.resolve(node.otherwise);
    if (!node.condition) return;
    FrameLayout asked{frame_.depth + 1};
    Names element(context_, asked, node.condition->scope, this);
    element.give(node.condition->target);
    element.read(node.condition->test);
    element.resolve(node.condition->target);
    element.resolve(node.condition->test);
    node.condition->scope.frame_size = int(asked.indices.size());
  }
  void resolve(If& node, int) {
    for (auto& [test, block] : node.branches) {
      resolve(test);
      resolve(block);
    }
    resolve(node.otherwise);
  }
  void resolve_body(Macro& node) {
    FrameLayout own{frame_.depth + 1};
    Names inner(context_, own, node.scope, this);
    for (const std::string& name : node.parameters.names) inner.give(name);
    if (node.uses_caller && !inner.own_.count("caller")) inner.give("caller");
    for (const ExpressionPtr& e : node.parameters.defaults) inner.read(e);
    inner.mention(node.body);
    for (const ExpressionPtr& e : node.parameters.defaults) inner.resolve(e);
    inner.resolve(node.body);
    node.scope.frame_size = int(own.indices.size());
  }
  void resolve(Macro& node, int line) {
    resolve_body(node);
    resolve(node.name, line);
  }
  void resolve(CallBlock& node, int) {
    resolve_body(node.caller);
    resolve(node.call);
  }
  void resolve(FilterBlock& node, int) {
    Names inner(context_, frame_, node.scope, this);
    inner.mention(node.body);
    inner.read(node.filter);
    inner.resolve(node.body);
    inner.resolve(node.filter);
  }
  void resolve(Generation& node, int) { resolve_body(node.body); }

  Context& context_;
  FrameLayout& frame_;
  Scope& scope_;
  const Names* outer_;
  int level_;
  int ifs_ = 0;  // around the current place in this block
  std::unordered_map<std::string, int> own_;
};

}  // namespace

Tree resolve(Block body) {
  SpecialNames().visit(body);
  Tree tree{std::move(body), {}, {}};
  Context context{tree};
  FrameLayout frame{1};
  Names names(context, frame, tree.scope, nullptr);
  names.mention(tree.body);
  names.resolve(tree.body);
  tree.scope.frame_size = int(frame.indices.size());
  return tree;
}

}  // namespace hearth::text::jinja
