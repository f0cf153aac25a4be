// What a result says of its own making.
#include "headway/provenance.hpp"

#include "catch.hpp"
#include "headway/core/cpu.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study_file.hpp"

using namespace headway;  // NOLINT: a test

namespace {

Study small() {
  return io::parse_study("[task]\nkind = \"fuzzy_logic\"\nsequence_length = 8\n", "s.toml");
}

}  // namespace

TEST_CASE("a result knows its study, data, program, machine and command") {
  Study study = small();
  study.seed = 7;
  study.threads = 3;
  const ResultProvenance made = make_provenance(study, "of the data", {"headway", "solve", "a b"});
  const BuildInfo build = build_info();
  CHECK_FALSE(build.version.empty());
  CHECK(made.headway_version == build.version);
  CHECK(made.git_commit == build.git_commit);
  CHECK(made.compiler == build.compiler + ", " + build.build_type);
  CHECK(made.machine == machine_description());
  CHECK_FALSE(made.blas.empty());
  CHECK(made.gpu.empty());
  CHECK(made.command == "headway solve 'a b'");
  CHECK(made.data_hash == "of the data");
  CHECK(made.study_hash == study_hash(study));
  CHECK(made.seed == 7);
  CHECK_THAT(made.started, Catch::Matchers::Matches(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"));
}

TEST_CASE("the study of a result remakes it with any number of threads") {
  Study study = small();
  const std::string alone = make_provenance(study, "", {}).study_toml;
  study.threads = 3;
  CHECK(make_provenance(study, "", {}).study_toml == alone);
  CHECK(study_hash(io::parse_study(alone, "s.toml")) == study_hash(study));
}
