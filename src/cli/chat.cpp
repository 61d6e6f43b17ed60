#include <fmt/format.h>

#include <csignal>
#include <set>

#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/input.h"
#include "cli/language_flags.h"
#include "cli/line_editor.h"
#include "cli/log.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "Without --messages the chat is interactive: each line is a message, and lines that start with a slash are commands (/help lists "
    "them). Ctrl-C stops the reply, Ctrl-D ends the chat.\n"
    "With --messages the model replies once; with --render too, hearth only prints the prompt that the chat template renders from the "
    "messages.\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.";

constexpr const char* slash_commands =
    "/help         list the commands\n"
    "/regen        generate the last reply again\n"
    "/system TEXT  set the system prompt; without TEXT remove it\n"
    "/clear        forget all messages except the system prompt\n"
    "/save FILE    write the conversation as a JSON list of messages\n"
    "/load FILE    continue the conversation in such a file\n"
    "/exit         leave, as Ctrl-D does\n";

constexpr int64_t default_context = 8192;

struct ChatFlags {
  LanguageFlags open;
  SamplingFlags sampling;
  ChatMessages chat;
  std::string messages, tools, documents, system;
  bool render = false, json = false;

  void add_to(Flags& flags) {
    open.add_model(flags);
    flags.group("Chat");
    flags.text("--system-prompt", "TEXT", "System prompt, before all messages", system, "none").also("--system,-sys").in_basic_help();
    flags.text("--messages", "FILE", "Reply once to this chat, a JSON list of messages", messages, "chat interactively").in_basic_help();
    flags.text("--tools", "FILE", "Tools that the model may call, a JSON list", tools, "none");
    flags.text("--documents", "FILE", "Documents for templates that use them, a JSON list", documents, "none");
    flags
        .text("--chat-template-kwargs", "JSON", "More variables for the chat template, such as {\"enable_thinking\": false}",
              chat.variables)
        .also("--variables");
    flags
        .text("--chat-template", "NAME", "Which chat template to use, if the checkpoint has several", chat.template_name,
              "tool_use with --tools, else default")
        .also("--template");
    flags.toggle("--continue-final-message", "Continue the last message instead of replying to it", chat.continue_final_message)
        .also("--continue");
    flags.toggle("--render", "Print the rendered prompt and exit", render);
    sampling.add_to(flags);
    open.add_device(flags);
    flags.group("Output");
    sampling.add_logprobs(flags);
    add_json(flags, "with --render the prompt and its token ids, else the same as hearth complete", json);
    flags.example("hearth chat", "Chat with the demo model");
    flags.example("hearth chat -m my-chat-model --system-prompt \"Be brief.\"", "Chat with a checkpoint");
    flags.example("hearth chat -m model.gguf --messages chat.json --json", "Reply once to a chat in a file");
  }

  void check() const {
    if (messages.empty() && (render || json || chat.continue_final_message))
      fail<UsageError>("chat: --render, --json and --continue-final-message require --messages FILE");
    hearth::check(sampling.resolved());
    if (sampling.request.logprobs && !json) fail<UsageError>("chat: log-probabilities are printed as JSON only; add --json");
  }
};

ChatMessages messages_of(const ChatFlags& f, const Conversation& conversation) {
  ChatMessages chat = f.chat;
  chat.messages = conversation.json();
  chat.add_generation_prompt = !chat.continue_final_message;
  if (!f.tools.empty()) chat.tools = read_text(f.tools);
  if (!f.documents.empty()) chat.documents = read_text(f.documents);
  return chat;
}

// The chat, rendered as a prompt.
CompletionRequest rendered_request(const ChatFlags& f, const LanguageModel& model, const Conversation& conversation) {
  CompletionRequest request = f.sampling.resolved();
  request.prompt = model.render(messages_of(f, conversation));
  request.prompt_ids = model.chat_ids(request.prompt);
  return request;
}

int64_t context_of(const ChatFlags& f, const LanguageModel& model) {
  return f.sampling.request.context.value_or(std::min(default_context, model.positions()));
}

LanguageModel::Plan plan_of(const ChatFlags& f, const LanguageModel& model, const Conversation& conversation) {
  if (!f.messages.empty()) return model.plan(rendered_request(f, model, conversation));
  const int64_t context = context_of(f, model);
  const int64_t unpacked = model.quantized().unpacked_bytes;
  return {.context = context,
          .weight_bytes = model.weight_bytes() - unpacked,
          .unpacked_bytes = unpacked,
          .cache_bytes = model.cache_bytes(context)};
}

class InteractiveChat {
 public:
  InteractiveChat(const ChatFlags& f, LanguageModel& model, Conversation& conversation)
      : flags_(f), model_(model), conversation_(conversation), context_(context_of(f, model)) {}

  void run() {
    // Ctrl-C stops a reply, even if pressed several times; SIGTERM also ends the program.
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = [](int) { canceled.store(true); };
    sigaction(SIGINT, &action, nullptr);
    action.sa_handler = [](int) { ended.store(true), canceled.store(true); };
    sigaction(SIGTERM, &action, nullptr);
    if (canceled) throw Canceled();  // before the first prompt
    LineEditor editor("> ");
    if (editor.on_terminal()) fmt::print("{}, context of {} tokens; /help lists the commands\n", model_.family(), context_);
    while (const auto line = editor.read()) {
      canceled.store(false);
      if (ended) throw Canceled();
      if (line->empty()) continue;
      try {
        if (line->front() == '/') {
          if (!command(*line)) return;
        } else {
          conversation_.add("user", *line);
          reply();
        }
      } catch (const Canceled&) { throw; } catch (const Error& e) {
        conversation_.remove_unanswered();  // the user may rephrase it
        log_error(e.what());
      }
    }
    if (canceled) throw Canceled();  // while it waited for a line
  }

 private:
  void reply() {
    std::string text;
    CompletionRequest request = rendered_request(flags_, model_, conversation_);
    request.context = context_;
    request.cancel = &canceled;
    if (!request.max_tokens) request.max_tokens = context_;
    request.on_text = [&text](std::string_view t) {
      text += t;
      fmt::print("{}", t);
      std::fflush(stdout);
    };
    try {
      const Completion made = model_.complete(request);
      for (const std::string& warning : made.warnings)
        if (shown_warnings_.insert(warning).second) log_warning(warning);
      if (made.finish_reason == "length") fmt::print(" […]");
      log_detail(speed_text(made));
    } catch (const Canceled&) {
      if (ended) throw;
      fmt::print(" [stopped]");
    }
    fmt::print("\n");
    std::fflush(stdout);
    conversation_.add("assistant", text);
  }

  // False at the end of the chat.
  bool command(const std::string& line) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, space), rest = space < line.size() ? line.substr(space + 1) : "";
    const auto needs_file = [&] {
      if (rest.empty()) fail<UsageError>("{}: the file name is missing", name);
    };
    if (name == "/exit" || name == "/quit") return false;
    if (name == "/help") fmt::print("{}", slash_commands);
    else if (name == "/clear") conversation_.clear();
    else if (name == "/system") conversation_.set_system(rest);
    else if (name == "/save") needs_file(), conversation_.save(rest);
    else if (name == "/load") needs_file(), conversation_.load(rest);
    else if (name == "/regen") {
      if (!conversation_.remove_reply()) fail<UsageError>("/regen: there is no reply yet");
      reply();
    } else {
      fail<UsageError>("{}: unknown command; /help lists the commands", name);
    }
    return true;
  }

  static inline std::atomic<bool> ended{false};
  const ChatFlags& flags_;
  LanguageModel& model_;
  Conversation& conversation_;
  int64_t context_;
  std::set<std::string> shown_warnings_;
};

void run_chat(std::span<const std::string> arguments) {
  ChatFlags f;
  Flags flags("chat", "Chat with a language model through the chat template of its checkpoint.", notes);
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  f.check();
  Conversation conversation;
  if (!f.messages.empty()) conversation.load(f.messages);
  if (!f.system.empty()) conversation.set_system(f.system);

  if (f.render) {
    const RenderedChat rendered = render_chat(f.open.model, messages_of(f, conversation));
    fmt::print("{}\n", f.json ? prompt_json(rendered) : rendered.text);
    return;
  }

  f.open.gpu_context = f.sampling.request.context;
  ProgressLine line;
  LanguageModel model = f.open.open([&line](const Progress& p) { line.update(p); },
                                    [&](const LanguageModel& unread) { log_info(memory_text(plan_of(f, unread, conversation))); });
  line.finish();
  if (f.messages.empty()) InteractiveChat(f, model, conversation).run();
  else print_completion(model, rendered_request(f, model, conversation), f.json, line);
}

}  // namespace

const Command chat = {"chat", "Chat with a language model", run_chat, "Text"};

}  // namespace hearth::cli
