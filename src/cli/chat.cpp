#include <fmt/format.h>

#include <csignal>
#include <set>

#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/input.h"
#include "cli/language_flags.h"
#include "cli/line_editor.h"
#include "cli/progress_line.h"
#include "cli/say.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "Without --messages it talks: a line is a question, and what begins with a slash a command (/help lists them). Ctrl-C stops the answer "
    "and not the "
    "program, Ctrl-D ends it.\n"
    "With --messages it answers once, and with --render too it only shows what the model would read.\n"
    "Exit code: 0 done, 1 failed, 2 wrong usage.";

constexpr const char* help =
    "/help         this text\n"
    "/regen        answer the last question again\n"
    "/system TEXT  set the system's message; without TEXT there is none\n"
    "/clear        forget what was said, but for the system's message\n"
    "/save FILE    write the conversation, as a JSON list of messages\n"
    "/load FILE    go on from such a file\n"
    "/exit         end, as Ctrl-D does\n";

constexpr int64_t default_context = 8192;

struct ChatFlags {
  LanguageFlags open;
  AnswerFlags answer;
  ChatMessages chat;
  std::string messages, tools, documents, system;
  bool render = false, json = false;

  void add_to(Flags& flags) {
    open.add_to(flags);
    flags.text("--messages", "FILE", "Answer this conversation once: a JSON list of messages", messages, "talk");
    flags.text("--tools", "FILE", "Tools that the model may call: a JSON list", tools, "none");
    flags.text("--documents", "FILE", "Documents for templates that know them: a JSON list", documents, "none");
    flags.text("--system", "TEXT", "The system's message, before all others", system, "none");
    flags.text("--variables", "JSON", "An object: further variables for the template, as {\"enable_thinking\": false}", chat.variables);
    flags.text("--template", "NAME", "Of several templates this one", chat.template_name, "tool_use with --tools, else default");
    flags.toggle("--continue", "Go on with the last message in place of answering it", chat.continue_final_message);
    flags.toggle("--render", "Print what the model would read, and end", render);
    answer.add_to(flags);
    flags.integer("--logprobs", "As in hearth complete (with --messages and --json)", answer.request.logprobs, "not told", {.low = 0});
    flags.toggle("--json", "Print one JSON object: {\"prompt\", \"ids\"} with --render, else as hearth complete does", json);
  }

  void check() const {
    if (messages.empty() && (render || json || chat.continue_final_message))
      fail<UsageError>("chat: --render, --json and --continue need --messages");
    hearth::check(answer.resolved());
    if (answer.request.logprobs && !json) fail<UsageError>("chat: log-probabilities are told with --json only");
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

// What the model is asked: the conversation, rendered.
CompletionRequest question(const ChatFlags& f, const LanguageModel& model, const Conversation& conversation) {
  CompletionRequest request = f.answer.resolved();
  request.prompt = model.render(messages_of(f, conversation));
  request.prompt_ids = model.chat_ids(request.prompt);
  return request;
}

int64_t context_of(const ChatFlags& f, const LanguageModel& model) {
  return f.answer.request.context.value_or(std::min(default_context, model.positions()));
}

LanguageModel::Plan plan_of(const ChatFlags& f, const LanguageModel& model, const Conversation& conversation) {
  if (!f.messages.empty()) return model.plan(question(f, model, conversation));
  const int64_t context = context_of(f, model);
  return {.context = context, .weight_bytes = model.weight_bytes(), .cache_bytes = model.cache_bytes(context)};
}

class Talk {
 public:
  Talk(const ChatFlags& f, LanguageModel& model, Conversation& conversation)
      : flags_(f), model_(model), conversation_(conversation), context_(context_of(f, model)) {}

  void run() {
    // Ctrl-C stops an answer, however often it is pressed; SIGTERM the program too.
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = [](int) { cancelled.store(true); };
    sigaction(SIGINT, &action, nullptr);
    action.sa_handler = [](int) { ended.store(true), cancelled.store(true); };
    sigaction(SIGTERM, &action, nullptr);
    if (cancelled) throw Cancelled();  // before anybody was asked
    LineEditor editor("> ");
    if (editor.on_terminal()) fmt::print("{} of {} tokens of context; /help lists the commands\n", model_.family(), context_);
    while (const auto line = editor.read()) {
      cancelled.store(false);
      if (ended) throw Cancelled();
      if (line->empty()) continue;
      try {
        if (line->front() == '/') {
          if (!command(*line)) return;
        } else {
          conversation_.say("user", *line);
          answer();
        }
      } catch (const Cancelled&) { throw; } catch (const Error& e) {
        conversation_.take_back_question();  // it may be asked in another way
        say(e.what());
      }
    }
    if (cancelled) throw Cancelled();  // while a line was awaited
  }

 private:
  void answer() {
    std::string text;
    CompletionRequest request = question(flags_, model_, conversation_);
    request.context = context_;
    request.cancel = &cancelled;
    if (!request.max_tokens) request.max_tokens = context_;
    request.on_text = [&text](std::string_view t) {
      text += t;
      fmt::print("{}", t);
      std::fflush(stdout);
    };
    try {
      const Completion made = model_.complete(request);
      for (const std::string& warning : made.warnings)
        if (told_.insert(warning).second) say("warning: " + warning);
      if (made.finish_reason == "length") fmt::print(" […]");
    } catch (const Cancelled&) {
      if (ended) throw;
      fmt::print(" [stopped]");
    }
    fmt::print("\n");
    std::fflush(stdout);
    conversation_.say("assistant", text);
  }

  // False: the end.
  bool command(const std::string& line) {
    const size_t space = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, space), rest = space < line.size() ? line.substr(space + 1) : "";
    const auto needs_file = [&] {
      if (rest.empty()) fail<UsageError>("{}: the name of a file is missing", name);
    };
    if (name == "/exit" || name == "/quit") return false;
    if (name == "/help") fmt::print("{}", help);
    else if (name == "/clear") conversation_.clear();
    else if (name == "/system") conversation_.set_system(rest);
    else if (name == "/save") needs_file(), conversation_.save(rest);
    else if (name == "/load") needs_file(), conversation_.load(rest);
    else if (name == "/regen") {
      if (!conversation_.take_back_answer()) fail<UsageError>("/regen: there is no answer yet");
      answer();
    } else {
      fail<UsageError>("{}: unknown; /help lists the commands", name);
    }
    return true;
  }

  static inline std::atomic<bool> ended{false};
  const ChatFlags& flags_;
  LanguageModel& model_;
  Conversation& conversation_;
  int64_t context_;
  std::set<std::string> told_;
};

void run_chat(std::span<const std::string> arguments) {
  ChatFlags f;
  Flags flags("chat", "Talks with a model in the form that its chat template gives to a conversation.", notes);
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

  ProgressLine line;
  LanguageModel model = f.open.open([&line](const Progress& p) { line.update(p); },
                                    [&](const LanguageModel& unread) { line.say(memory_line(plan_of(f, unread, conversation))); });
  line.finish();
  if (f.messages.empty()) Talk(f, model, conversation).run();
  else print_answer(model, question(f, model, conversation), f.json, line);
}

}  // namespace

const Command chat = {"chat", "talk with a language model", run_chat};

}  // namespace hearth::cli
