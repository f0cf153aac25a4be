#include <fmt/format.h>

#include <exception>
#include <new>

#include "command_line.hpp"
#include "course.hpp"
#include "headway/core/error.hpp"
#include "headway/numerics/dense.hpp"
#include "shipped_studies.hpp"
#include "startup.hpp"
#include "terminal.hpp"

namespace headway::cli {

namespace {

int run_command(int argc, char** argv) {
  CommandLine line = parse_command_line(argc, argv);
  if (line.verb == nullptr) {
    write_output(line.text);
    return kExitOk;
  }
  numerics::use_single_threaded_blas();
  line.options.input = find_input(line.options.input);
  if (line.verb->compute) return run_computation(line.options, line.verb->compute);
  return line.verb->run(line.options);
}

int report(int code, const std::string& message) {
  write_message("headway: " + message);
  return code;
}

}  // namespace

int run_program(int argc, char** argv) {
  bind_thread_pools(argv);
  guard_standard_streams();
  install_signal_handlers();
  try {
    return run_command(argc, argv);
  } catch (const Error& error) {
    return report(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(static_cast<int>(ErrorKind::kUnavailable),
                  "not enough memory; fewer examples, tokens or features, --set "
                  "solve.kernels=streamed, or in training smaller dims or batches (with "
                  "train.accumulation for the same sum), need less (--dry-run shows the sizes)");
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

}  // namespace headway::cli

int main(int argc, char** argv) { return headway::cli::run_program(argc, argv); }
