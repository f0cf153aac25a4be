#include "headway/tasks/fuzzy_logic.hpp"

#include <algorithm>
#include <cstddef>

#include "headway/core/rng.hpp"
#include "headway/error.hpp"

namespace headway::tasks {
namespace {

StreamPurpose purpose_of(FuzzyLogicSplit split) {
  switch (split) {
    case FuzzyLogicSplit::kTrain:
      return StreamPurpose::kTrainExamples;
    case FuzzyLogicSplit::kValidation:
      return StreamPurpose::kValidationExamples;
    case FuzzyLogicSplit::kHeldOut:
      return StreamPurpose::kHeldOutExamples;
    case FuzzyLogicSplit::kUnknownTerms:
      return StreamPurpose::kUnknownTermExamples;
  }
  throw Error(ErrorKind::kInternal, "fuzzy_logic: unknown split");
}

// k 2^-24: every value is a float, and so is 1 - x.
float draw_input(Rng& rng) { return static_cast<float>(rng.next_u32() >> 8U) * 0x1.0p-24F; }

}  // namespace

float evaluate_fuzzy_logic(std::span<const int> terms, std::span<const float> x) {
  float any = 0.0F;
  for (const int term : terms) {
    float all = 1.0F;
    for (std::size_t v = 0; v < x.size(); ++v) {
      const bool as_it_is = ((static_cast<unsigned>(term) >> (x.size() - 1 - v)) & 1U) != 0;
      all = std::min(all, as_it_is ? x[v] : 1.0F - x[v]);
    }
    any = std::max(any, all);
  }
  return any;
}

FuzzyLogicGenerator::FuzzyLogicGenerator(const FuzzyLogicOptions& options)
    : options_(options), tasks_(split_fuzzy_logic_tasks(options)) {
  if (options_.inputs == FuzzyLogicInputs::kUniform) return;
  Rng rng(options_.seed, StreamPurpose::kTaskParameters);
  fixed_inputs_.resize(static_cast<std::size_t>(options_.sequence_length * options_.variables));
  for (float& x : fixed_inputs_) x = draw_input(rng);
}

Index FuzzyLogicGenerator::fill(FuzzyLogicSplit split, Index index, std::span<float> inputs,
                                std::span<float> targets) const {
  Rng rng(options_.seed, purpose_of(split), static_cast<std::uint64_t>(index));
  const auto& tasks = tasks_.of(split);
  const std::uint64_t task = rng.uniform_index(tasks.size());
  const auto variables = static_cast<std::size_t>(options_.variables);
  const std::size_t query = targets.size() - 1;
  for (std::size_t s = 0; s <= query; ++s) {
    const std::span<float> token = inputs.subspan(s * (variables + 1), variables + 1);
    const bool fixed = (s == query && options_.inputs == FuzzyLogicInputs::kFixedQuery) ||
                       (s < query && options_.inputs == FuzzyLogicInputs::kFixedContext);
    for (std::size_t v = 0; v < variables; ++v) {
      token[v] = fixed ? fixed_inputs_[s * variables + v] : draw_input(rng);
    }
    targets[s] = evaluate_fuzzy_logic(tasks[task], token.first(variables));
    token[variables] = s < query ? targets[s] : 0.0F;
  }
  return static_cast<Index>(task);
}

void FuzzyLogicGenerator::example(FuzzyLogicSplit split, Index index,
                                  FuzzyLogicExample& out) const {
  const auto length = static_cast<std::size_t>(options_.sequence_length);
  out.inputs.resize(length * static_cast<std::size_t>(features()));
  out.targets.resize(length);
  out.task = fill(split, index, out.inputs, out.targets);
}

void FuzzyLogicGenerator::batch(FuzzyLogicSplit split, Index first, Index count,
                                FuzzyLogicBatch& out) const {
  const auto examples = static_cast<std::size_t>(count);
  const auto length = static_cast<std::size_t>(options_.sequence_length);
  const std::size_t stride = length * static_cast<std::size_t>(features());
  out.inputs.resize(examples * stride);
  out.targets.resize(examples * length);
  out.tasks.resize(examples);
  for (std::size_t i = 0; i < examples; ++i) {
    out.tasks[i] = fill(split, first + static_cast<Index>(i),
                        std::span(out.inputs).subspan(i * stride, stride),
                        std::span(out.targets).subspan(i * length, length));
  }
}

}  // namespace headway::tasks
