#include "cli/debug_flag.h"

namespace hearth::cli {

void add_debug(Flags& flags, Debug& debug) {
  flags.add("--debug", "LIST",
            "Of timing, shapes, nan, all, separated by commas: time per operation and block; each operation's shapes; "
            "stop at the first operation whose result is not finite",
            "nothing", [&debug](const std::string& t) {
              for (const std::string& word : parse_words(t, std::vector<std::string>{"timing", "shapes", "nan", "all"})) {
                const bool all = word == "all";
                if (all || word == "timing") debug.timing = true;
                if (all || word == "shapes") debug.shapes = true;
                if (all || word == "nan") debug.nan = true;
              }
            });
}

}  // namespace hearth::cli
