// A text of any length for tests of language models.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "headway/core/rng.hpp"

namespace headway::testing {

/// Sentences of a small grammar, a line each.
inline std::string grammar_text(int sentences, std::uint64_t stream = 0) {
  const std::array<const char*, 5> subjects = {"the physicist", "a spin glass",
                                               "every attention head", "the na\u00efve learner",
                                               "one path"};
  const std::array<const char*, 4> verbs = {"renormalises", "forgets", "averages over", "prunes"};
  const std::array<const char*, 5> objects = {"its kernel", "the temperature", "all other heads",
                                              "the order parameter", "nothing at all"};
  Rng rng(1, StreamPurpose::kTests, stream);
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    text += subjects[rng.uniform_index(5)];
    text += " ";
    text += verbs[rng.uniform_index(4)];
    text += " ";
    text += objects[rng.uniform_index(5)];
    text += ".\n";
  }
  return text;
}

}  // namespace headway::testing
