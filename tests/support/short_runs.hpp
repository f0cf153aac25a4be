// Short runs of the samplers, and what they refuse.
#pragma once

#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/sampling/options.hpp"

namespace headway::testing {

/// Three chains of 20 draws after 40 of warmup, in one thread.
inline sampling::SamplerOptions short_run(sampling::SamplerKind kind) {
  sampling::SamplerOptions options;
  options.sampler = kind;
  options.chains = 3;
  options.warmup = 40;
  options.draws = 20;
  options.seed = 7;
  options.threads = 1;
  return options;
}

/// The message of the Error that `action` throws, which must be of this kind.
template <typename Action>
std::string error_of(const Action& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "(no error)";
}

}  // namespace headway::testing
