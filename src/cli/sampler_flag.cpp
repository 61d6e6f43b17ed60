#include "cli/sampler_flag.h"

#include "cli/open_flags.h"
#include "cli/suggest.h"
#include "core/error.h"
#include "sampling/sampler_names.h"

namespace hearth::cli {

void add_sampler(Flags& flags, const std::string& help, std::string& sampler) {
  flags.add("--sampler", "NAME", help, "the checkpoint's own", [&sampler](const std::string& t) {
    if (!sampling::known_sampler_name(t)) {
      Flags::Choice all = choice_of(list_samplers());
      all.names.insert(all.names.end(), all.aliases.begin(), all.aliases.end());
      fail<UsageError>("'{}' is unknown; hearth list samplers has those that there are{}", t, did_you_mean(t, all.names));
    }
    sampler = t;
  });
}

}  // namespace hearth::cli
