#include "verbs/theory/learned_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/numerics/blas.hpp"

namespace headway {
namespace {

constexpr const char* kPrior = "model.attention_prior";

/// Size of a start near no attention, in prior deviations. At 0 itself, heads that are equal would
/// stay so, and queries and keys would have no slope.
constexpr double kSmallStart = 0.05;

[[noreturn]] void bad_prior(const std::string& key, const std::string& message) {
  const std::string full = key.empty() ? kPrior : fmt::format("{}.{}", kPrior, key);
  throw OptionError(full + message, {full, kPrior});
}

model::AttentionPrior prior_of(const Study& study, const std::vector<int>& heads) {
  const AttentionPriorOptions& options = *study.model.attention_prior;
  model::AttentionPrior prior;
  prior.heads = heads;
  prior.form = options.form;
  prior.variance = options.variance;
  prior.dims = options.dims.value_or(0);
  prior.kind = options.kind;
  for (const std::vector<int>& address : options.frozen) {
    prior.frozen.push_back({static_cast<std::size_t>(address.at(0) - 1), address.at(1) - 1});
  }
  return prior;
}

/// Sources one after another.
class JoinedExamples final : public ExampleSource {
 public:
  explicit JoinedExamples(std::vector<std::shared_ptr<const ExampleSource>> parts)
      : parts_(std::move(parts)) {}
  [[nodiscard]] Index size() const override {
    Index size = 0;
    for (const auto& part : parts_) size += part->size();
    return size;
  }
  [[nodiscard]] Index tokens() const override { return parts_.front()->tokens(); }
  [[nodiscard]] Index features() const override { return parts_.front()->features(); }
  [[nodiscard]] bool has_mask() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->has_mask(); });
  }
  [[nodiscard]] bool thread_safe() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& p) { return p->thread_safe(); });
  }
  [[nodiscard]] std::vector<int> supplied_heads() const override {
    return parts_.front()->supplied_heads();
  }
  void read_inputs(Index begin, Index count, double* out) const override {
    each(begin, count, [&](const ExampleSource& part, Index first, Index here, Index at) {
      part.read_inputs(first, here, out + at * tokens() * features());
    });
  }
  void read_mask(Index begin, Index count, std::uint8_t* out) const override {
    each(begin, count, [&](const ExampleSource& part, Index first, Index here, Index at) {
      std::uint8_t* mask = out + at * tokens();
      if (part.has_mask()) {
        part.read_mask(first, here, mask);
      } else {
        std::fill_n(mask, here * tokens(), std::uint8_t{1});
      }
    });
  }
  void read_attention(int layer, Index begin, Index count, double* out) const override {
    const int heads = supplied_heads().at(static_cast<std::size_t>(layer - 1));
    const Index size = heads * tokens() * tokens();
    each(begin, count, [&](const ExampleSource& part, Index first, Index here, Index at) {
      part.read_attention(layer, first, here, out + at * size);
    });
  }

 private:
  template <class Read>
  void each(Index begin, Index count, const Read& read) const {
    Index before = 0;
    for (const auto& part : parts_) {
      const Index first = std::max(begin, before);
      const Index end = std::min(begin + count, before + part->size());
      if (first < end) read(*part, first - before, end - first, first - begin);
      before += part->size();
    }
  }

  std::vector<std::shared_ptr<const ExampleSource>> parts_;
  std::vector<int> heads_;
};

/// The key that needs matrices of the data set's attention, with its value; "" if none does.
std::string user_of_given_matrices(const Study& study) {
  for (const auto& [key, start] : {std::pair("solve", study.solve.attention_start),
                                   std::pair("sample", study.sample.attention_start)}) {
    if (start != AttentionStart::kGiven) continue;
    return fmt::format("{}.attention_start = \"{}\"", key, word_of(start));
  }
  return "";
}

void require_inputs(const tasks::Dataset& dataset) {
  if (dataset.train.examples != nullptr) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: holds {}, which no attention can be learned on; allowed with "
                          "model.attention_prior: inputs [P, S, N_0]",
                          dataset.name, dataset.gram ? "Gram matrices" : "path features"));
}

/// The examples of the test set and all further sets, which JoinedExamples takes if they have
/// equally many tokens.
std::vector<std::shared_ptr<const ExampleSource>> evaluated_examples(
    const tasks::Dataset& dataset) {
  std::vector<std::shared_ptr<const ExampleSource>> all;
  const auto add = [&](const std::string& in, const tasks::Split& split) {
    all.push_back(split.examples);
    if (split.examples->tokens() == all.front()->tokens()) return;
    throw Error(
        ErrorKind::kBadData,
        fmt::format("{}: {}/inputs: has {} tokens; allowed with model.attention_prior: S = {}, as "
                    "in the first set that predictors are judged on",
                    dataset.name, in, split.examples->tokens(), all.front()->tokens()));
  };
  if (dataset.test) add("test", *dataset.test);
  for (const tasks::NamedSplit& set : dataset.sets) add("sets/" + set.name, set.split);
  return all;
}

}  // namespace

void learn_attention(const Study& study, tasks::Dataset& dataset) {
  if (!learns_attention(study)) return;
  require_inputs(dataset);
  const AttentionPriorOptions& options = *study.model.attention_prior;
  const std::vector<int>& heads = options.heads.empty() ? dataset.heads : options.heads;
  if (heads.empty()) {
    bad_prior("heads",
              fmt::format(" is missing, and {} names no heads; must be one number H_l >= 1 "
                          "for each layer",
                          dataset.name));
  }
  const model::AttentionPrior prior = prior_of(study, heads);
  try {
    prior.validate(dataset.features);
  } catch (const Error& error) {
    throw OptionError(error.what(), {kPrior});
  }
  const bool matrices =
      dataset.form == AttentionForm::kWeights || dataset.form == AttentionForm::kQueryKey;
  const auto require_given = [&](const std::string& user, bool gives, std::string_view how) {
    if (user.empty() || (gives && heads == dataset.heads)) return;
    throw OptionError(fmt::format("{}: {} must give the attention of [{}] heads{}, and gives {}",
                                  user, dataset.name, join(heads, ", "), how,
                                  dataset.heads.empty() ? "none"
                                  : gives ? fmt::format("that of [{}]", join(dataset.heads, ", "))
                                          : "it example by example"),
                      {user.substr(0, user.find(' ')), kPrior});
  };
  const bool supplied = dataset.form == AttentionForm::kSupplied;
  require_given(options.frozen.empty() ? "" : fmt::format("{}.frozen", kPrior),
                matrices || supplied, "");
  require_given(user_of_given_matrices(study), matrices, " by matrices that act on the inputs");
  if (heads != dataset.heads) {
    dataset.layers.assign(heads.size(), {});
    dataset.heads = heads;
  }
  dataset.network.reset();  // it was trained with other attention
}

LearnedProblem make_learned_problem(const Study& study, const tasks::Dataset& dataset,
                                    Observer& observer) {
  numerics::prepare_blas();
  check_study_against_dataset(study, dataset);
  require_inputs(dataset);
  observer.progress("inputs", 0.0, 1.0);
  const model::AttentionPrior prior = prior_of(study, dataset.heads);
  const auto attention_on = [&](const ExampleSource& examples) {
    return std::make_shared<const model::LearnedAttention>(
        examples, prior, prior.frozen.empty() ? std::vector<LayerHeads>{} : dataset.layers,
        readout_of(study, dataset), study.model.attention, resolve_threads(study.threads));
  };
  LearnedProblem learned;
  learned.train = attention_on(*dataset.train.examples);
  std::vector<std::shared_ptr<const ExampleSource>> evaluated = evaluated_examples(dataset);
  if (!evaluated.empty()) learned.evaluation = attention_on(JoinedExamples(std::move(evaluated)));
  learned.labels = std::make_shared<MatrixXd>(dataset.train.labels);
  if (study.solve.attention_start == AttentionStart::kGiven ||
      study.sample.attention_start == AttentionStart::kGiven) {
    learned.given = learned.train->coordinates().of_heads(dataset.layers);
  }
  return learned;
}

void start_attention(AttentionStart start, const LearnedProblem& learned, Eigen::Ref<VectorXd> z) {
  if (start == AttentionStart::kNone) z *= kSmallStart;
  if (start == AttentionStart::kGiven) z = learned.given;
}

std::unique_ptr<posterior::LearnedChain> learned_target(const Study& study,
                                                        const tasks::Dataset& dataset,
                                                        const LearnedProblem& learned,
                                                        const SweepPoint& sweep) {
  const model::Architecture architecture = architecture_of(study, dataset, sweep.widths);
  const AttentionPriorOptions& prior = *study.model.attention_prior;
  std::vector<std::string> frozen;
  for (const std::vector<int>& head : prior.frozen) frozen.push_back("[" + join(head) + "]");
  const std::string fingerprint = fmt::format(
      "learned attention of heads {} form {} kind {} variance {:.17g} dims {} frozen [{}] readout "
      "{} "
      "attention {} widths {} temperature {:.17g} variances {} data {}",
      join(dataset.heads, ","), word_of(prior.form), word_of(prior.kind), prior.variance,
      prior.dims.value_or(0), join(frozen), word_of(readout_of(study, dataset)),
      word_of(study.model.attention), join(sweep.widths, ","), sweep.temperature,
      join(architecture.variances, ","), dataset.content_hash);
  return std::make_unique<posterior::LearnedChain>(architecture, sweep.temperature, learned.train,
                                                   learned.labels, learned.evaluation, fingerprint);
}

}  // namespace headway
