#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/core/gram.hpp"
#include "headway/core/linear_value_network.hpp"
#include "headway/types.hpp"

namespace headway::tasks {

/// An array that stays where it is, such as in its file, and is read in blocks. Thread-safe.
class ArraySource {
 public:
  ArraySource() = default;
  ArraySource(const ArraySource&) = delete;
  ArraySource& operator=(const ArraySource&) = delete;
  virtual ~ArraySource() = default;

  [[nodiscard]] virtual const std::vector<Index>& shape() const = 0;
  /// Entries [begin, begin + count) of the first index, row-major.
  virtual void read(Index begin, Index count, double* out) const = 0;
};

/// One split (train, test, or a further set) of a data set: labels, and either inputs served in
/// blocks or path features.
struct Split {
  std::shared_ptr<const ExampleSource> examples;  ///< null when the data set holds path features
  RowMatrixXd path_features;  ///< P x (p N_0), unscaled xi_pi, path-major; else empty
  std::shared_ptr<const ArraySource> feature_source;  ///< [P, p, N_0], in place of path_features
  MatrixXd labels;                                    ///< P x C
  std::vector<std::string> ids;                       ///< optional, one per example

  [[nodiscard]] Index size() const { return labels.rows(); }

  /// The split that a factory of Dataset makes of the same arrays, for a test or a further set.
  static Split from_path_features(const Tensor& path_features, const MatrixXd& labels);
  static Split from_inputs(Tensor inputs, const MatrixXd& labels,
                           std::vector<std::uint8_t> mask = {}, std::vector<Tensor> attention = {});
};

/// A further set of examples on which a predictor is judged, as on the test set. "validation" holds
/// examples of the same kind, to choose a temperature by. Others may be of another kind ("mnist").
struct NamedSplit {
  std::string name;
  Split split;
};

/// The set by which a temperature is chosen, where there is one.
inline constexpr const char* kValidationSet = "validation";

/// What is wrong with the name of a further set, and what is allowed; "" for a good name. A name is
/// a letter, then letters, digits, - and _, at most 40 in all, but not "train" or "test".
std::string set_name_fault(const std::string& name);

/// The name of a data set that was handed over as arrays: no file holds it.
inline constexpr const char* kArraysInMemory = "arrays in memory";

/// What a task produces and a data-set file holds: examples and the attention heads that act on
/// them.
struct Dataset {
  std::string name;  ///< file path or task kind, for messages
  AttentionForm form = AttentionForm::kWeights;
  std::vector<int> heads;          ///< H_1, ..., H_L
  std::vector<LayerHeads> layers;  ///< L entries (names only, where the attention is supplied)
  Index features = 0;              ///< N_0
  /// The readout that path features or `network` were made with, if known. Otherwise the default
  /// for studies that set no readout.
  std::optional<Readout> readout;
  bool any_rows = false;  ///< supplied attention may be signed, with rows of any sum
  Split train;
  std::optional<Split> test;
  /// Sums over the training examples, in place of `train`, which is then empty.
  std::optional<GramMatrices> gram;
  std::vector<NamedSplit> sets;  ///< further sets, each name once; train's shapes but for P
  /// Weights that were trained with these heads, in the theory's scaling. `prune` removes heads
  /// from this network too.
  std::optional<LinearValueNetwork> network;
  std::string note;  ///< for example "attention of a network that the theory approximates"
  /// SHA-256 of the file or of the task's resolved parameters. A factory below hashes what it is
  /// given, so sets that are added later do not count.
  std::string content_hash;

  // Data sets of arrays in memory, for solve() and the other verbs of the theory. `labels`: P x C,
  // +-1 or one-hot for classes, else real. A test set may be added: data.test = Split::from_...
  // All throw Error{kBadData}, naming the member and what is allowed, unless shapes and labels fit
  // each other. Cost: a copy of what is not moved, and a hash of the numbers.

  /// Inputs that were already averaged along every path: unscaled xi_pi (eq. 7), [P, p, N_0] for P
  /// examples, p = H_1 ... H_L paths with h_L fastest, and N_0 features. `heads`: H_1, ..., H_L.
  static Dataset from_path_features(const Tensor& path_features, const MatrixXd& labels,
                                    const std::vector<int>& heads);
  /// Tokens, and heads that act on them: inputs [P, S, N_0]; for each layer its heads, as matrices
  /// `weights` or as `query` and `key`, the same in all layers (eq. 5). `mask`: [P, S], 1 for a
  /// real token, or empty.
  static Dataset from_inputs(Tensor inputs, const MatrixXd& labels, std::vector<LayerHeads> layers,
                             std::vector<std::uint8_t> mask = {});
  /// Tokens, and the attention of each example: one [P, H_l, S, S] a layer, [head, query, key].
  static Dataset from_attention(Tensor inputs, const MatrixXd& labels,
                                std::vector<Tensor> attention, std::vector<std::uint8_t> mask = {});

  [[nodiscard]] Index outputs() const { return train.labels.cols(); }
  /// P
  [[nodiscard]] Index train_examples() const { return gram ? gram->examples : train.size(); }
  /// Examples of the test set and all further sets together.
  [[nodiscard]] Index evaluated_examples() const;
};

/// Error{kBadData}, naming the member, its size and what is allowed, unless the members of a data
/// set fit each other. Checked are: heads and layers; N_0; of train, test and each further set the
/// examples or path features, labels and ids, with P, C and N_0; the heads of supplied attention;
/// the names of further sets; which numbers name two classes; the shapes of Gram matrices. Every
/// verb of the theory calls it. Not checked are matrices of heads, weights of `network`, and
/// whether numbers are finite: that is done where they are used. Nor are signs and sums of supplied
/// rows of attention, which files and Python are checked for. Cost: one pass over the labels.
void check_dataset(const Dataset& dataset);

/// Examples held in memory.
class MemoryExamples final : public ExampleSource {
 public:
  /// inputs [P, S, N_0]; mask [P, S] or empty; attention: one [P, H_l, S, S] per layer, or empty.
  /// Error{kBadData} when the shapes do not fit each other.
  explicit MemoryExamples(Tensor inputs, std::vector<std::uint8_t> mask = {},
                          std::vector<Tensor> attention = {});

  [[nodiscard]] Index size() const override { return inputs_.shape[0]; }
  [[nodiscard]] Index tokens() const override { return inputs_.shape[1]; }
  [[nodiscard]] Index features() const override { return inputs_.shape[2]; }
  [[nodiscard]] bool has_mask() const override { return !mask_.empty(); }
  [[nodiscard]] bool thread_safe() const override { return true; }
  [[nodiscard]] std::vector<int> supplied_heads() const override;
  void read_inputs(Index begin, Index count, double* out) const override;
  void read_mask(Index begin, Index count, std::uint8_t* out) const override;
  void read_attention(int layer, Index begin, Index count, double* out) const override;

 private:
  Tensor inputs_;
  std::vector<std::uint8_t> mask_;
  std::vector<Tensor> attention_;
};

/// Examples read on demand, from any thread. Only the mask is held in memory. Inputs of masked
/// tokens and attention rows of masked queries are served as zeros.
class SourcedExamples final : public ExampleSource {
 public:
  using Source = std::shared_ptr<const ArraySource>;
  /// inputs [P, S, N_0]; mask [P, S] or empty; attention: one [P, H_l, S, S] per layer, or empty.
  /// The caller has checked that the shapes fit each other.
  SourcedExamples(Source inputs, std::vector<std::uint8_t> mask, std::vector<Source> attention)
      : inputs_(std::move(inputs)), mask_(std::move(mask)), attention_(std::move(attention)) {}

  [[nodiscard]] Index size() const override { return inputs_->shape()[0]; }
  [[nodiscard]] Index tokens() const override { return inputs_->shape()[1]; }
  [[nodiscard]] Index features() const override { return inputs_->shape()[2]; }
  [[nodiscard]] bool has_mask() const override { return !mask_.empty(); }
  [[nodiscard]] bool thread_safe() const override { return true; }
  [[nodiscard]] std::vector<int> supplied_heads() const override;
  void read_inputs(Index begin, Index count, double* out) const override;
  void read_mask(Index begin, Index count, std::uint8_t* out) const override;
  void read_attention(int layer, Index begin, Index count, double* out) const override;

 private:
  [[nodiscard]] bool is_real(Index token) const;

  Source inputs_;
  std::vector<std::uint8_t> mask_;
  std::vector<Source> attention_;
};

}  // namespace headway::tasks

namespace headway {

// What users call.
using tasks::Dataset;
using tasks::Split;

}  // namespace headway
