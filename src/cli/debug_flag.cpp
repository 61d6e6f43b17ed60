#include "cli/debug_flag.h"

namespace hearth::cli {

void add_debug(Flags& flags, Debug& debug) {
  flags.group("Debugging");
  flags
      .add("--debug", "LIST",
           "What to record of each operation, separated by commas: timing (time per operation and block), shapes, nan (stop at the first "
           "operation whose result is not finite), or all",
           "nothing",
           [&debug](const std::string& t) {
             for (const std::string& word : parse_words(t, std::vector<std::string>{"timing", "shapes", "nan", "all"})) {
               const bool all = word == "all";
               if (all || word == "timing") debug.timing = true;
               if (all || word == "shapes") debug.shapes = true;
               if (all || word == "nan") debug.nan = true;
             }
           })
      .completes({"timing", "shapes", "nan", "all"});
}

}  // namespace hearth::cli
