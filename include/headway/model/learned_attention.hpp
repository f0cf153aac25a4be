#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/core/words.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/dense.hpp"

namespace headway::model {

/// How the logits of a learned head depend on its weights (x_s: query token, x_t: key token).
enum class AttentionPriorForm {
  kMatrix,       ///< x_s^T W x_t / N_0
  kQueriesKeys,  ///< (W_Q x_s) . (W_K x_t) / (N_0 sqrt(N_QK)), both N_QK x N_0
};
Words<AttentionPriorForm> words_of(AttentionPriorForm);

/// How the logits of a learned head become attention.
enum class LearnedKind {
  kSoftmax,  ///< over keys
  kLinear,   ///< logit / S, S the number of real tokens
};
Words<LearnedKind> words_of(LearnedKind);

/// The prior of the attention of a network. W has entries of variance s_w^2; W_Q and W_K have
/// entries of variance s_w, which gives W_Q^T W_K / sqrt(N_QK) the variance s_w^2, too.
struct AttentionPrior {
  std::vector<int> heads;  ///< H_1, ..., H_L
  AttentionPriorForm form = AttentionPriorForm::kMatrix;
  double variance = 1.0;  ///< s_w^2
  Index dims = 0;         ///< N_QK; only of kQueriesKeys
  LearnedKind kind = LearnedKind::kSoftmax;
  std::vector<HeadAddress> frozen;  ///< heads whose attention is given

  [[nodiscard]] bool is_frozen(std::size_t layer, int head) const;
  /// Throws Error{kBadStudy} naming field, value and what is allowed. `features`: N_0.
  void validate(Index features) const;
};

/// Where the weights of each head lie in a vector z of unit normals: W = s_w z, or W_Q, W_K =
/// sqrt(s_w) z. Head after head, layer 1 first; column by column, W_Q (N_QK x N_0) before W_K.
class AttentionCoordinates {
 public:
  /// Validates the prior.
  AttentionCoordinates(AttentionPrior prior, Index features);

  [[nodiscard]] const AttentionPrior& prior() const { return prior_; }
  [[nodiscard]] Index features() const { return features_; }
  [[nodiscard]] Index dimension() const { return dimension_; }
  /// First entry of a head, from 0; -1 where it is frozen.
  [[nodiscard]] Index offset(std::size_t layer, int head) const;
  /// Entries of a learned head.
  [[nodiscard]] Index head_size() const;
  /// "W_1^2[3,4]", or "Q_1^2[3,4]" and "K_1^2[3,4]": layer, head, row, column, counted from 1.
  [[nodiscard]] std::vector<std::string> names() const;
  /// W of a learned head, N_0 x N_0: s_w z, or W_Q^T W_K / sqrt(N_QK).
  [[nodiscard]] MatrixXd weights(const Eigen::Ref<const VectorXd>& z, std::size_t layer,
                                 int head) const;
  /// z of the learned heads whose logits are those of `given`, as a data set gives them by
  /// matrices. Queries and keys of too few dimensions give the nearest matrix of rank N_QK.
  /// Error{kBadData} unless `given` has the heads of the prior and acts on these features.
  [[nodiscard]] VectorXd of_heads(const std::vector<LayerHeads>& given) const;
  /// z with the heads of one layer exchanged: head h of the result is head order[h] of z. Error
  /// {kInternal} when that moves a frozen head.
  [[nodiscard]] VectorXd permuted(const Eigen::Ref<const VectorXd>& z, std::size_t layer,
                                  const std::vector<int>& order) const;
  /// What the products of z with the tokens are multiplied by to give logits.
  [[nodiscard]] double logit_scale() const;

 private:
  AttentionPrior prior_;
  Index features_;
  Index dimension_ = 0;
  std::vector<std::vector<Index>> offsets_;
};

/// Statistics of the last layer's attention at the tokens that the readout takes: means over these
/// tokens of all examples.
struct AttentionStatistics {
  double entropy;  ///< of a head, mean over heads; NaN for linear attention, which may be negative
  double largest;  ///< largest weight of the attention averaged over heads
};

/// Path features of a network as a function of its attention weights, and their derivative.
///
///   X_pi[mu] = scale * sum_t w_pi[mu, t](z) x_t[mu]        (eqs. 7 and 8)
///
/// The tokens of all examples are held in memory, P S N_0 numbers. Attention is computed anew at
/// every z. That of the last forward pass is kept if it takes at most `kLargestKeptAttention`
/// bytes. Otherwise the backward pass computes it again. The numbers do not depend on the number
/// of threads. Immutable; the caller owns the workspaces.
class LearnedAttention {
 public:
  /// `given`: the attention of frozen heads, by weights or by query and key matrices, as in a data
  /// set. `given_kind` turns its logits into attention. A layer without matrices has the attention
  /// that the examples supply. `given` may be empty if no head is frozen. Errors: kBadStudy for a
  /// bad prior; kBadData for examples without a real token, or if a frozen head has no attention.
  LearnedAttention(const ExampleSource& examples, AttentionPrior prior,
                   std::vector<LayerHeads> given, Readout readout,
                   AttentionKind given_kind = AttentionKind::kSoftmax, int threads = 1);
  ~LearnedAttention();
  LearnedAttention(const LearnedAttention&) = delete;
  LearnedAttention& operator=(const LearnedAttention&) = delete;

  static constexpr double kLargestKeptAttention = 0x1p26;  // 64 MiB

  [[nodiscard]] const AttentionCoordinates& coordinates() const { return coordinates_; }
  [[nodiscard]] Index dimension() const { return coordinates_.dimension(); }
  [[nodiscard]] Index examples() const { return examples_; }
  [[nodiscard]] Index paths() const { return paths_; }
  [[nodiscard]] Index features() const { return coordinates_.features(); }

  /// Attention and path weights of the last forward pass.
  class Workspace {
   public:
    Workspace();
    ~Workspace();
    Workspace(const Workspace& other);
    Workspace& operator=(const Workspace& other) = delete;

   private:
    friend class LearnedAttention;
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

  /// P x (p N_0), path blocks of N_0 columns, as theory::PathKernels has scaled features. False,
  /// with `out` undefined, when a number of a learned head is not finite: another z may do. Error
  /// {kBadData} when a logit of a frozen head is not: no z helps. Cost: that of path_features().
  [[nodiscard]] bool path_features(const Eigen::Ref<const VectorXd>& z, double scale,
                                   Workspace& workspace, MatrixXd& out) const;
  /// Adds dE/dz for a function E of the features whose gradient over them is `slope`, at the z and
  /// scale of the last path_features() on this workspace. Cost: about twice that of the features.
  void pull_back(const Eigen::Ref<const VectorXd>& z, double scale, const MatrixXd& slope,
                 Workspace& workspace, Eigen::Ref<VectorXd> gradient) const;
  /// Statistics at the z of the last path_features() on this workspace.
  [[nodiscard]] AttentionStatistics statistics(const Eigen::Ref<const VectorXd>& z,
                                               Workspace& workspace) const;

 private:
  struct Block;
  struct Pass;
  using Position = Eigen::Ref<const VectorXd>;

  void forward(const Position& z, const Block& block, Pass& pass) const;
  void attend(const Position& z, const Block& block, std::size_t layer, int head, Pass& pass) const;
  void backward(const Block& block, double scale, const MatrixXd& slope, Pass& pass,
                double* gradient) const;
  void pull_back_head(const Block& block, std::size_t layer, int head, Pass& pass,
                      double* gradient) const;
  /// The pass of a block at z: kept, or made anew in `local`.
  Pass& pass_of(const Position& z, std::size_t block, Workspace& workspace, Pass& local) const;
  [[nodiscard]] bool is_top(std::size_t layer) const { return layer + 1 == heads_.size(); }

  AttentionCoordinates coordinates_;
  std::vector<LayerHeads> given_;
  std::vector<int> heads_;  // H_1, ..., H_L
  AttentionKind given_kind_;
  int threads_;
  Index examples_ = 0;
  Index paths_ = 1;
  bool kept_ = true;  // the attention of all blocks stays in the workspace
  std::vector<Block> blocks_;
};

}  // namespace headway::model
