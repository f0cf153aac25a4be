#include <fmt/format.h>

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "command_line.hpp"
#include "delivery.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/ranks.hpp"
#include "headway/error.hpp"
#include "headway/jobs/shipped_studies.hpp"
#include "headway/numerics/blas.hpp"
#include "terminal.hpp"

namespace headway::cli {

namespace {

int run_command(int argc, char** argv, Ranks* ranks) {
  const bool first = ranks == nullptr || ranks->is_first();
  CommandLine line;
  const auto parse = [&] {
    line = parse_command_line(argc, argv);
    if (line.verb != nullptr) line.options.input = jobs::find_input(line.options.input);
  };
  if (ranks == nullptr) {
    parse();
  } else if (!agree(*ranks, parse)) {
    return kExitOk;
  }
  if (line.verb == nullptr) {
    if (first) write_output(line.text);
    return kExitOk;
  }
  const bool computes = line.verb->takes == Takes::kComputes;
  if (!computes && !first) return kExitOk;
  numerics::prepare_blas();
  if (computes) line.options.ranks = ranks;
  return line.verb->run != nullptr ? line.verb->run(line.options)
                                   : run_job(*line.verb, std::move(line.options));
}

int report(int code, const std::string& message) {
  write_message("headway: " + message);
  return code;
}

/// Runs `body` and returns its exit code; what it throws becomes a message and a code.
int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    return report(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(
        static_cast<int>(ErrorKind::kUnavailable),
        "not enough memory; --dry-run shows the sizes. Fewer examples, tokens or features "
        "need less, and so do --set solve.kernels=streamed and, in training, smaller dims "
        "or batches (train.accumulation keeps the sum)");
  } catch (const std::exception& error) {
    return report(static_cast<int>(ErrorKind::kInternal),
                  fmt::format("this is a bug in Headway, please report it with the study that "
                              "caused it: {}",
                              error.what()));
  } catch (...) {
    return report(static_cast<int>(ErrorKind::kInternal),
                  "this is a bug in Headway, please report it with the study that caused it");
  }
}

}  // namespace

int run_program(int argc, char** argv) {
  guard_standard_streams();
  install_signal_handlers();
  std::unique_ptr<Ranks> ranks;
  const int joined = guarded([&] {
    ranks = join_ranks();
    return kExitOk;
  });
  if (joined != kExitOk) return joined;
  const int code = guarded([&] { return run_command(argc, argv, ranks.get()); });
  // If one rank fails, the others would wait for it.
  if (ranks != nullptr && !ranks->is_first() && code != kExitOk) ranks->abort(code);
  return code;
}

}  // namespace headway::cli

int main(int argc, char** argv) { return headway::cli::run_program(argc, argv); }
