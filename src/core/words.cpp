#include "headway/core/words.hpp"

#include <fmt/format.h>

#include "headway/core/nearest_word.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"

namespace headway::detail {

void refuse_word(std::string_view field, std::string_view text,
                 const std::vector<std::string>& known) {
  const std::string guess = nearest_word(text, known);
  throw OptionError(
      fmt::format("{} = \"{}\": must be one of \"{}\"{}", field, text, join(known, "\", \""),
                  guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess)),
      {std::string(field)});
}

void refuse_enumerator() {
  throw Error(ErrorKind::kInternal, "an enumeration's value has no word");
}

}  // namespace headway::detail
