#include "api/language/wording.h"

#include "api/assets.h"
#include "api/language/tokenizer_source.h"
#include "core/error.h"
#include "hub/local_model.h"
#include "models/gguf_wording.h"
#include "text/template/chat_files.h"
#include "weights/gguf/gguf.h"
#include "weights/gguf/gguf_folder.h"

namespace hearth {
namespace api {
Wording Wording::of_gguf(const std::filesystem::path& folder, const GgufMetadata& metadata) {
  Wording wording{.root = folder, .chat_templates = models::gguf_chat_templates(metadata)};
  if (metadata.text("tokenizer.ggml.model", "no_vocab") != "no_vocab") wording.vocabulary = models::gguf_vocabulary(metadata);
  return wording;
}

const text::Tokenizer& Wording::tokenizer() const {
  if (!read) read = vocabulary ? text::Tokenizer::from_gguf(*vocabulary) : open_folder_tokenizer(root);
  return *read;
}

bool Wording::has_tokenizer() const {
  if (read || vocabulary) return true;
  std::error_code error;
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json"})
    if (std::filesystem::exists(root / name, error)) return true;
  return false;
}

text::ChatTemplate Wording::chat_template() const {
  if (!vocabulary) return text::ChatTemplate::load(root);
  if (chat_templates.empty()) fail<WeightError>("{}: the file has no chat template", root.string());
  // Some files name a template that their own program contains.
  if (const auto named = chat_templates.find("default"); named != chat_templates.end() && named->second.find('{') == std::string::npos)
    fail<UnsupportedError>("{}: the chat template is only a name, '{}', expected a template", root.string(), named->second);
  const text::Tokenizer& t = tokenizer();
  std::map<std::string, std::string> special;
  const auto add = [&](const char* name, const std::string& token) {
    if (!token.empty()) special[name] = token;
  };
  add("bos_token", t.bos_token()), add("eos_token", t.eos_token());
  add("unk_token", t.unk_token()), add("pad_token", t.pad_token());
  return {chat_templates, special, root.string()};
}

std::string Wording::template_source(const std::string& name) const {
  const std::map<std::string, std::string> sources = vocabulary ? chat_templates : text::ChatFiles::read(root).templates;
  const auto found = sources.find(name);
  return found == sources.end() ? std::string() : found->second;
}

std::string Wording::render(const ChatMessages& chat) const {
  return chat_template().render({.messages = chat.messages,
                                 .tools = chat.tools,
                                 .documents = chat.documents,
                                 .add_generation_prompt = chat.add_generation_prompt,
                                 .continue_final_message = chat.continue_final_message,
                                 .variables = chat.variables,
                                 .name = chat.template_name.empty() ? std::nullopt : std::optional(chat.template_name)});
}

std::vector<int32_t> Wording::ids_of(const std::string& rendered) const {
  return tokenizer().encode(rendered, {.add_special_tokens = false});
}

}  // namespace api

RenderedChat render_chat(const std::filesystem::path& model, const ChatMessages& chat) {
  const std::filesystem::path path = model.empty() ? api::demo_language_model_folder() : gguf_file_of(hub::local_model(model));
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail<IoError>("{}: no such file or folder", path.string());
  const api::Wording wording = std::filesystem::is_directory(path)
                                   ? api::Wording::of_folder(path)
                                   : api::Wording::of_gguf(path.parent_path(), GgufFile::open(path)->metadata());
  RenderedChat rendered{.text = wording.render(chat), .ids = {}};
  rendered.ids = wording.ids_of(rendered.text);
  return rendered;
}

}  // namespace hearth
