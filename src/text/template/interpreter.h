// One rendering: walks the tree.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/syntax/tree.h"
#include "text/template/template.h"

namespace hearth::text::jinja {

// The variables of one rendering, or of one call of a macro.
struct Frame {
  Frame(std::shared_ptr<Frame> outer, int size) : parent(std::move(outer)), variables(size_t(size)), taken(bytes(size)) {
    count_steps(size_t(size));
  }
  static size_t bytes(int size) { return sizeof(Frame) + size_t(size) * sizeof(Value); }

  std::shared_ptr<Frame> parent;
  std::vector<Value> variables;  // Value() where nothing is set
  Taken taken;
};

class Interpreter {
 public:
  Interpreter(const Tree& tree, const Dict& variables, const Environment& environment);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string run();
  int line() const { return line_; }  // of what was looked at last

 private:
  enum class Flow { on, broken, continued };
  struct Output {
    std::string text;
    Taken taken{0};
    void write(std::string_view more);
  };
  class Inside;     // makes a frame current for a block
  class Capturing;  // makes an output current for a block

  Flow execute(const Block& block);
  Flow execute(const Statement& statement);
  Flow run_node(const Data& node);
  Flow run_node(const Print& node);
  Flow run_node(const Set& node);
  Flow run_node(const SetBlock& node);
  Flow run_node(const For& node);
  Flow run_node(const If& node);
  Flow run_node(const Macro& node);
  Flow run_node(const CallBlock& node);
  Flow run_node(const FilterBlock& node);
  Flow run_node(const Generation& node);
  Flow run_node(const Break&) { return Flow::broken; }
  Flow run_node(const Continue&) { return Flow::continued; }

  Value selected(const For& node, const Value& iterable);
  Value& variable(Place place);
  void begin(const Scope& scope);
  void end(const Scope& scope);
  Flow execute(const Block& block, const Scope& scope);
  void require_spaces(const Expression& target);  // where an attribute is assigned
  void assign(const Expression& target, const Value& value);
  const std::shared_ptr<Frame>& captured_frame();  // the current one, for a value that keeps it
  Value make_macro(const Macro& macro);
  std::string call_macro(const Macro& macro, const std::shared_ptr<Frame>& outer, Arguments& arguments);

  Value evaluate(const Expression& e);
  Value value_of(const Constant& n);
  Value value_of(const Name& n);
  Value value_of(const NamespaceAttribute& n);
  Value value_of(const TupleOf& n);
  Value value_of(const ListOf& n);
  Value value_of(const DictOf& n);
  Value value_of(const Attribute& n);
  Value value_of(const Subscript& n);
  Value value_of(const SliceOf& n);
  Value value_of(const CallOf& n);
  Value value_of(const FilterOf& n);
  Value value_of(const TestOf& n);
  Value value_of(const Negation& n);
  Value value_of(const Not& n);
  Value value_of(const Arithmetic& n);
  Value value_of(const Joined& n);
  Value value_of(const Compared& n);
  Value value_of(const Both& n);
  Value value_of(const Either& n);
  Value value_of(const Conditional& n);
  List evaluate_all(const Expressions& list);
  Arguments evaluate_arguments(const CallArguments& arguments);
  Value call_with(const CallOf& n, const Value* caller);
  Value filtered_text(const Expression& filter, std::string text);

  const Tree& tree_;
  std::shared_ptr<Frame> frame_;
  Output* out_ = nullptr;
  const Value* filter_input_ = nullptr;  // what the block that is being filtered gave
  int line_ = 1;
  // What a template can tie into circles: emptied at the end.
  std::vector<std::shared_ptr<Frame>> captured_frames_;
  std::vector<std::shared_ptr<SpaceObject>> spaces_;
};

}  // namespace hearth::text::jinja
