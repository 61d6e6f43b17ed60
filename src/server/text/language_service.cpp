#include "server/text/language_service.h"

#include <algorithm>
#include <mutex>

#include "api/assets.h"
#include "backends/backends.h"
#include "core/error.h"
#include "core/memory.h"
#include "engine/drafter.h"
#include "server/api_error.h"
#include "text/grammar/grammar_cache.h"
#include "weights/checkpoint_files.h"

namespace hearth::server {
namespace {

namespace grammar = text::grammar;

// A choice's place in a grammar.
class GrammarConstraint final : public engine::Constraint {
 public:
  GrammarConstraint(grammar::Grammar g, std::shared_ptr<const grammar::VocabularyIndex> vocabulary)
      : state_(std::move(g)), vocabulary_(std::move(vocabulary)) {}

  std::span<const uint64_t> allowed() override {
    mask_ = state_.mask(*vocabulary_);
    return mask_->words;
  }
  void accept(int32_t token) override {
    if (!state_.accept_token(*vocabulary_, token)) throw std::logic_error("a token was drawn that the grammar does not allow");
  }
  bool ends() const override { return state_.is_complete() && state_.next_bytes().none(); }
  std::unique_ptr<Constraint> copy() const override { return std::make_unique<GrammarConstraint>(*this); }

 private:
  grammar::GrammarState state_;
  std::shared_ptr<const grammar::VocabularyIndex> vocabulary_;
  std::shared_ptr<const grammar::TokenMask> mask_;
};

class GrammarSource final : public engine::ConstraintSource {
 public:
  GrammarSource(grammar::Grammar g, std::shared_ptr<const grammar::VocabularyIndex> vocabulary)
      : grammar_(std::move(g)), vocabulary_(std::move(vocabulary)) {}
  std::unique_ptr<engine::Constraint> make() const override { return std::make_unique<GrammarConstraint>(grammar_, vocabulary_); }

 private:
  grammar::Grammar grammar_;
  std::shared_ptr<const grammar::VocabularyIndex> vocabulary_;
};

// The options of a model's engine. With a limit of a GPU's memory, `cache_bytes` is what the layers were divided for.
engine::EngineOptions engine_options(const LanguageService::Options& options, DType cache_type, int64_t cache_bytes) {
  engine::EngineOptions how = options.engine;
  how.cache_type = cache_type;
  if (cache_bytes > 0) how.cache_bytes = cache_bytes;
  return how;
}

// Bytes that are free where the KV cache will be.
int64_t available_bytes(const LanguageOptions& open) {
  const int64_t free = shared_backend({.name = open.device, .threads = open.threads, .pinned = open.pin_threads})->free_memory();
  return free > 0 ? free : system_available_bytes();
}

}  // namespace

struct LanguageService::Impl {
  Impl(const Options& options)
      : model(api::open_language_model(options.path, options.open,
                                       [&](models::LanguageModel& dry) {
                                         const engine::EngineOptions how =
                                             engine_options(options, api::dtype_of(options.open.cache_type), cache_bytes);
                                         const engine::MemoryPlan plan = engine::plan_memory(dry, how, available_bytes(options.open));
                                         cache_bytes = plan.bytes();
                                         engine::rehearse(dry, how, plan);
                                       })),
        weight_bytes(model.weight_bytes()) {}
  Impl(std::shared_ptr<const LanguageService> of, const Lora& adapter)
      : base(std::move(of)), model(base->impl_->model.adapted({adapter})), weight_bytes(weight_files_bytes(adapter.file)) {}

  api::LanguageState& state() { return api::state_of(model); }

  int64_t cache_bytes = 0;                      // for which a GPU has room; 0: nothing was decided
  std::shared_ptr<const LanguageService> base;  // of a model with an adapter
  LanguageModel model;
  int64_t weight_bytes;
  std::optional<LanguageModel> draft;
  std::optional<text::ChatTemplate> chat;
  std::string chat_source;
  tools::ToolFormat format;
  tools::Reasoning reasoning;
  tools::TemplateSupport support;
  std::vector<std::string> hidden;
  grammar::GrammarCache grammars;
  std::mutex mutex;  // of the vocabularies
  std::shared_ptr<const grammar::VocabularyIndex> vocabulary, vocabulary_with_marks;
};

LanguageService::LanguageService(std::string id, const Options& options)
    : LanguageService(std::move(id), options, std::make_unique<Impl>(options)) {}

LanguageService::LanguageService(std::string id, std::shared_ptr<const LanguageService> base, const Lora& adapter, const Options& options)
    : LanguageService(std::move(id), options, std::make_unique<Impl>(std::move(base), adapter)) {}

LanguageService::LanguageService(std::string id, const Options& options, std::unique_ptr<Impl> impl)
    : id_(std::move(id)), impl_(std::move(impl)) {
  api::LanguageState& s = impl_->state();
  engine::EngineOptions how = engine_options(options, s.cache_type, impl_->cache_bytes);
  if (options.draft == "ngram") {
    how.drafter = engine::ngram_drafter();
  } else if (!options.draft.empty()) {
    impl_->draft = LanguageModel::open(options.draft, options.open);
    api::LanguageState& d = api::state_of(*impl_->draft);
    if (!d.has_tokenizer() || !s.has_tokenizer() || d.tokenizer().bytes_of_all() != s.tokenizer().bytes_of_all())
      fail<UsageError>("--draft {}: its vocabulary is not that of {}, expected the same tokens", options.draft, id_);
    const int64_t context = how.context ? how.context : s.model->sizes().positions;
    how.drafter = engine::model_drafter(*d.model, std::min(context, d.model->sizes().positions), d.cache_type);
  }
  impl_->chat_source = s.template_source();
  if (!impl_->chat_source.empty()) {
    impl_->chat = s.chat_template();
    impl_->support =
        tools::template_support([this](const Json& messages, const Json& tools) { return render(messages, tools, Json::object(), false); });
  }
  const std::string for_tools = s.template_source("tool_use");
  impl_->format = tools::find_format(for_tools.empty() ? impl_->chat_source : for_tools);
  impl_->reasoning = tools::find_reasoning(impl_->chat_source);
  const std::vector<std::string> marks = tools::marks_of(impl_->format, impl_->reasoning, true);
  for (int32_t token = 0; s.has_tokenizer() && token < s.tokenizer().vocab_size(); ++token) {
    if (!s.tokenizer().is_special(token)) continue;
    std::string text = s.tokenizer().bytes_of(token);
    if (std::ranges::find(marks, text) == marks.end()) impl_->hidden.push_back(std::move(text));
  }
  engine_ = std::make_unique<engine::Engine>(*s.model, *s.device, s.has_tokenizer() ? &s.tokenizer() : nullptr, how);
}

LanguageService::~LanguageService() = default;

const api::LanguageState& LanguageService::state() const { return impl_->state(); }

const text::Tokenizer& LanguageService::tokenizer() const {
  if (!state().has_tokenizer()) throw ApiError(400, fmt::format("the model '{}' has no tokenizer, expected token ids", id_), "model");
  return state().tokenizer();
}

std::string LanguageService::token_bytes(int32_t id) const { return tokenizer().bytes_of(id); }

std::vector<int32_t> LanguageService::end_tokens() const { return state().defaults.eos_token_ids; }

std::string LanguageService::render(const Json& messages, const Json& tools, const Json& variables, bool continue_final_message) const {
  if (!impl_->chat) throw ApiError(400, fmt::format("the model '{}' has no chat template: use completions", id_), "model");
  const auto dumped = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  try {
    return impl_->chat->render({.messages = dumped(messages),
                                .tools = tools.is_null() ? std::nullopt : std::optional(dumped(tools)),
                                .documents = {},
                                .add_generation_prompt = !continue_final_message,
                                .continue_final_message = continue_final_message,
                                .variables = dumped(variables)});
  } catch (const std::exception& e) { throw ApiError(400, e.what(), "messages"); }
}

const tools::ToolFormat& LanguageService::tool_format() const { return impl_->format; }
const tools::Reasoning& LanguageService::reasoning() const { return impl_->reasoning; }
const tools::TemplateSupport& LanguageService::template_support() const { return impl_->support; }
const std::vector<std::string>& LanguageService::hidden_tokens() const { return impl_->hidden; }
const std::string& LanguageService::chat_source() const { return impl_->chat_source; }

bool LanguageService::device_lost() const { return impl_->model.device_lost(); }

int64_t LanguageService::bytes() const { return impl_->weight_bytes + engine_->memory().bytes(); }

std::shared_ptr<const engine::ConstraintSource> LanguageService::constraint(std::string_view kind, std::string_view source,
                                                                            const std::function<grammar::Rules()>& rules,
                                                                            const std::string& param, bool with_marks) const {
  try {
    const grammar::Grammar compiled = impl_->grammars.get(kind, source, [&] { return grammar::Grammar(rules()); });
    const std::lock_guard lock(impl_->mutex);
    std::shared_ptr<const grammar::VocabularyIndex>& vocabulary = with_marks ? impl_->vocabulary_with_marks : impl_->vocabulary;
    if (!vocabulary) {
      const std::vector<std::string> marks =
          with_marks ? tools::marks_of(impl_->format, impl_->reasoning, true) : std::vector<std::string>();
      std::vector<std::string> bytes = tokenizer().bytes_of_all();
      for (size_t id = 0; id < bytes.size(); ++id)
        if (tokenizer().is_special(int32_t(id)) && std::ranges::find(marks, bytes[id]) == marks.end()) bytes[id].clear();
      bytes.resize(size_t(std::min<int64_t>(std::ssize(bytes), state().model->sizes().vocabulary)));
      std::vector<int32_t> ends;
      for (const int32_t id : end_tokens())
        if (id < std::ssize(bytes)) ends.push_back(id);
      vocabulary = std::make_shared<const grammar::VocabularyIndex>(std::move(bytes), std::move(ends));
    }
    return std::make_shared<GrammarSource>(compiled, vocabulary);
  } catch (const Error& e) { throw ApiError(400, e.what(), param, "unsupported_grammar"); }
}

}  // namespace hearth::server
