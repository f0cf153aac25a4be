#include "headway/provenance.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "headway/core/cpu.hpp"
#include "headway/core/text.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/training/backend.hpp"
#include "results/build_info.hpp"

namespace headway {
namespace {

std::string compiler_name() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown compiler";
#endif
}

/// The GPU that the networks of this study run on; "" if there is none.
std::string gpu_of(const Study& study) {
  const bool training = description_of(study.task.kind()).side == Side::kTraining;
  if (!training || study.train.run.device == training::Device::kCpu) return "";
  if (!training::cuda_available()) return "";
  return training::gpu_text(training::first_gpu(), training::training_backend(),
                            std::string(word_of(study.train.run.precision)));
}

}  // namespace

BuildInfo build_info() {
  return {detail::kHeadwayVersion, detail::kGitCommit, detail::kDate, compiler_name(),
          detail::kBuildType};
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

ResultProvenance make_provenance(const Study& study, const std::string& data_hash,
                                 const std::vector<std::string>& arguments) {
  Study stored = study;
  stored.threads = 0;  // a property of the run, which the result says apart from the study
  const BuildInfo build = build_info();
  ResultProvenance provenance;
  provenance.study_toml = study_text(stored);
  provenance.study_hash = study_hash(study);
  provenance.data_hash = data_hash;
  provenance.headway_version = build.version;
  provenance.git_commit = build.git_commit;
  provenance.compiler = build.compiler + ", " + build.build_type;
  provenance.blas = numerics::blas_description();
  provenance.machine = machine_description();
  provenance.gpu = gpu_of(study);
  provenance.command = shell_command(arguments);
  provenance.started = utc_now();
  provenance.seed = study.seed;
  return provenance;
}

}  // namespace headway
