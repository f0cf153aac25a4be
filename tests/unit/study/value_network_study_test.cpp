// What value networks allow, and the whole sentence where a study asks for more.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study_file.hpp"

using namespace headway;

namespace {

const std::string kPlain = "[task]\nkind = \"dataset\"\nfile = \"x.h5\"\n";
const std::string kValues = kPlain + "[model]\ntemperature = 0.1\n[model.value_network]\n";

Study parsed(const std::string& text, const std::vector<std::string>& overlays = {}) {
  return io::parse_study(text, "s.toml", overlays);
}

std::string fault(const std::vector<std::string>& overlays) {
  try {
    parsed(kValues, overlays);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a study says which value network there is; without one the values are linear") {
  CHECK_FALSE(parsed(kPlain).model.value_network);
  const Study by_default = parsed(kValues);
  REQUIRE(by_default.model.value_network);
  CHECK(by_default.model.value_network->form == model::ValueForm::kHyla);
  CHECK(by_default.model.value_network->nonlinearity == numerics::Nonlinearity::kRelu);
  CHECK(by_default.model.value_network->features == model::FeatureLearning::kFixed);
  const Study other = parsed(kValues +
                             "form = \"after_attention\"\nnonlinearity = \"erf\"\nfeatures = "
                             "\"adapted\"\n");
  CHECK(other.model.value_network->form == model::ValueForm::kAfterAttention);
  CHECK(other.model.value_network->nonlinearity == numerics::Nonlinearity::kErf);
  CHECK(other.model.value_network->features == model::FeatureLearning::kAdapted);
  CHECK(solve_hash(other) != solve_hash(by_default));
  CHECK(solve_hash(by_default) != solve_hash(parsed(kPlain)));
}

TEST_CASE("value networks refuse what they cannot use, with what they can") {
  CHECK(fault({}) == "none");
  const std::string beside = " beside model.value_network";
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"sample.sampler=\"nuts\"",
       "sample.sampler = \"nuts\": must be \"auto\" or \"exact\"" + beside},
      {"sample.metric=\"information\"",
       "sample.metric = \"information\": must be \"auto\", \"unit\", \"diagonal\" or \"dense\"" +
           beside},
      {"solve.kernels=\"distributed\"",
       "solve.kernels = \"distributed\": must be \"auto\", \"stored\", \"streamed\" or "
       "\"feature_space\"" +
           beside}};
  for (const auto& [overlay, words] : faults) {
    CHECK(fault({overlay}) == "--set " + overlay + ": " + words);
  }
  CHECK_THAT(fault({"model.attention_prior.heads=[2]"}),
             Catch::Matchers::ContainsSubstring(
                 "model.value_network: must be absent beside model.attention_prior"));
  for (const char* sound :
       {"sample.replicas=4", "sample.metric=\"dense\"", "solve.kernels=\"streamed\""}) {
    CHECK(fault({sound}) == "none");
  }
}
