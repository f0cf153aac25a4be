#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "headway/core/block_cyclic.hpp"
#include "headway/core/text.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/error.hpp"
#include "headway/numerics/symmetric.hpp"
#include "kernel_forms.hpp"
#include "orthogonal_kernels.hpp"
#include "path_kernel_forms.hpp"
#include "rank_part.hpp"
#include "second_order_blocks.hpp"

namespace headway::theory {
namespace {

using numerics::symmetric_size;
using numerics::symmetric_to_vector;
using numerics::vector_to_symmetric;

constexpr Index kTestRows = 256;  // that the ranks predict at a time

/// The tasks that the first rank gives to all.
enum class Task : int {
  kEvaluate,
  kForget,
  kExplained,
  kProjectedInverse,
  kFirstOrder,
  kSecondOrder,
  kQuit
};

/// A task with its arguments, as it is sent to every rank.
struct Order {
  Task task = Task::kQuit;
  int state = 0;
  double temperature = 0.0;  ///< of kEvaluate
  MatrixXd matrix;           ///< the function's matrix, where it has one
};

using OrderHead = std::array<double, 5>;

void send_order(Ranks& ranks, const Order& order) {
  const OrderHead head = {static_cast<double>(order.task), static_cast<double>(order.state),
                          order.temperature, static_cast<double>(order.matrix.rows()),
                          static_cast<double>(order.matrix.cols())};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), head.data(), sizeof head);
  for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, bytes);
  MatrixXd matrix = order.matrix;
  if (matrix.size() > 0) broadcast(ranks, {matrix.data(), static_cast<std::size_t>(matrix.size())});
}

Order receive_order(Ranks& ranks) {
  const std::string bytes = wait_for_message(ranks).bytes;
  OrderHead head{};
  if (bytes.size() != sizeof head) throw Error(ErrorKind::kInternal, "an order of another length");
  std::memcpy(head.data(), bytes.data(), sizeof head);
  Order order{static_cast<Task>(static_cast<int>(head[0])), static_cast<int>(head[1]), head[2],
              MatrixXd(static_cast<Index>(head[3]), static_cast<Index>(head[4]))};
  if (order.matrix.size() > 0)
    broadcast(ranks, {order.matrix.data(), static_cast<std::size_t>(order.matrix.size())});
  return order;
}

class DistributedKernels final : public PathKernels {
 public:
  DistributedKernels(Ranks& ranks, RankExamples examples, Index paths, int threads)
      : PathKernels({examples.labels.rows(), paths, examples.rows.cols() / paths, 1}, threads,
                    KernelForm::kDistributed),
        ranks_(ranks),
        part_(ranks, std::move(examples), paths, threads) {
    cost_ = kernel_cost(sizes_, KernelForm::kDistributed, false, ranks.size());
  }
  ~DistributedKernels() override { send_order(ranks_, {}); }
  DistributedKernels(const DistributedKernels&) = delete;
  DistributedKernels& operator=(const DistributedKernels&) = delete;

  [[nodiscard]] std::unique_ptr<EnergyState> evaluate(const MatrixXd& u,
                                                      double temperature) const override;
  [[nodiscard]] MatrixXd predictive_mean(const MatrixXd& u, double temperature,
                                         const MatrixXd& test_features) const override {
    const std::unique_ptr<EnergyState> state = evaluate(u, temperature);
    return state ? mean_from_dual(test_features, state->projected_dual(), u) : MatrixXd();
  }

  /// Sends the order to the other ranks. The caller then does this rank's part.
  RankPart& together(const Order& order) const {
    send_order(ranks_, order);
    return part_;
  }
  void forget(int state) const { together({Task::kForget, state, 0.0, {}}).forget(state); }

 private:
  Ranks& ranks_;
  mutable RankPart part_;
  mutable int states_ = 0;  // made so far
};

class DistributedState final : public EnergyState {
 public:
  DistributedState(const DistributedKernels& kernels, int id, MatrixXd u, double temperature,
                   RankPart::Evaluation found, const MatrixXd& labels)
      : EnergyState(kernels.shared_from_this()),
        kernels_(kernels),
        id_(id),
        u_(std::move(u)),
        mean_(labels - temperature * found.alpha) {
    log_determinant = 2.0 * found.pivots.array().log().sum();
    quadratic = labels.col(0).dot(found.alpha);
    relative_rounding =
        rounding_of({.pivots = (found.squares.array() / found.pivots.array().square()).sum(),
                     .dual = found.alpha.cwiseAbs2().dot(found.squares),
                     .terms = static_cast<double>(found.alpha.size()),
                     .quadratic = quadratic});
    condition = std::pow(found.pivots.maxCoeff() / found.pivots.minCoeff(), 2);
    gradient = found.traces - found.projected.transpose() * found.projected;  // eq. 22
    projected_dual_ = std::move(found.projected);
  }
  ~DistributedState() override { kernels_.forget(id_); }
  DistributedState(const DistributedState&) = delete;
  DistributedState& operator=(const DistributedState&) = delete;

  /// Always in double precision.
  [[nodiscard]] std::unique_ptr<const EnergyCurvature> curvature(
      const MatrixXd& frame, Precision precision) const override;
  [[nodiscard]] MatrixXd fisher_information(Precision precision) const override;
  [[nodiscard]] MatrixXd contract_third_derivative(const MatrixXd& sigma,
                                                   Precision precision) const override;
  [[nodiscard]] Prediction predict(const MatrixXd& test_features) const override;
  [[nodiscard]] MatrixXd apply_projected_inverse(const MatrixXd& u) const override {
    return kernels_.together({Task::kProjectedInverse, id_, 0.0, u}).projected_inverse(id_, u);
  }
  [[nodiscard]] const MatrixXd& mean_on_examples() const { return mean_; }
  [[nodiscard]] MatrixXd first_order(const MatrixXd& d) const {
    return kernels_.together({Task::kFirstOrder, id_, 0.0, d}).first_order(id_, d);
  }
  [[nodiscard]] MatrixXd second_order(const MatrixXd& d) const {
    return kernels_.together({Task::kSecondOrder, id_, 0.0, d}).second_order(id_, d);
  }
  /// X^T A X (w D), for w of N_0 x p. If w = X^T a for a vector a, this is X^T A K(D) a.
  [[nodiscard]] MatrixXd project(const MatrixXd& w, const MatrixXd& d) const {
    const MatrixXd wd = w * d;
    const MatrixXd z = apply_projected_inverse(wd.reshaped());
    return z.reshaped(wd.rows(), wd.cols());
  }

 private:
  [[nodiscard]] MatrixXd compute_average_information() const override;

  const DistributedKernels& kernels_;
  int id_;
  MatrixXd u_;
  MatrixXd mean_;  // on the training examples: K alpha
};

/// With Y = A X, A = (K + T)^{-1}, and v = X^T alpha (eqs. 70 and 71):
///   <X_pi, M' X_rho>  = -<Y_pi, K(D) Y_rho> - v'_pi . v_rho - v_pi . v'_rho,
///   <X_pi, M'' X_rho> = 2 <K(D) Y_pi, A K(D) Y_rho> - v''_pi . v_rho - v_pi . v''_rho
///                       - 2 v'_pi . v'_rho,   v' = -X^T A X (v D),
///   v'' = -2 X^T A X (v' D)
class DistributedCurvature final : public EnergyCurvature {
 public:
  DistributedCurvature(const DistributedState& state, MatrixXd frame)
      : state_(state), frame_(std::move(frame)) {}

  [[nodiscard]] MatrixXd apply(const MatrixXd& e) const override {
    const MatrixXd d = direction(e);
    const MatrixXd& v = state_.projected_dual();
    const MatrixXd dual = v.transpose() * -state_.project(v, d);
    return in_frame(-state_.first_order(d) - dual - dual.transpose());
  }
  [[nodiscard]] MatrixXd apply_twice(const MatrixXd& e) const override {
    const MatrixXd d = direction(e);
    const MatrixXd& v = state_.projected_dual();
    const MatrixXd first = -state_.project(v, d);
    const MatrixXd dual = v.transpose() * (-2.0 * state_.project(first, d));
    return in_frame(2.0 * state_.second_order(d) - dual - dual.transpose() -
                    2.0 * first.transpose() * first);
  }

 private:
  [[nodiscard]] MatrixXd direction(const MatrixXd& e) const {
    const MatrixXd d = frame_ * e * frame_.transpose();
    return 0.5 * (d + d.transpose());
  }
  [[nodiscard]] MatrixXd in_frame(const MatrixXd& g) const {
    return frame_.transpose() * g * frame_;
  }

  const DistributedState& state_;
  MatrixXd frame_;
};

std::unique_ptr<EnergyState> DistributedKernels::evaluate(const MatrixXd& u,
                                                          double temperature) const {
  const int id = states_++;
  RankPart::Evaluation found =
      together({Task::kEvaluate, id, temperature, u}).evaluate(id, u, temperature);
  if (!found.positive) return nullptr;
  return std::make_unique<DistributedState>(*this, id, u, temperature, std::move(found),
                                            part_.labels());
}

std::unique_ptr<const EnergyCurvature> DistributedState::curvature(const MatrixXd& frame,
                                                                   Precision /*precision*/) const {
  return std::make_unique<DistributedCurvature>(*this, frame);
}

MatrixXd DistributedState::compute_average_information() const {
  const Index p = kernels_.order();
  MatrixXd columns(projected_dual_.size(), symmetric_size(p));  // v D_k
  for (Index k = 0; k < columns.cols(); ++k) {
    const MatrixXd vd = projected_dual_ * vector_to_symmetric(VectorXd::Unit(columns.cols(), k), p);
    columns.col(k) = vd.reshaped();
  }
  const MatrixXd information = columns.transpose() * apply_projected_inverse(columns);
  return 0.5 * (information + information.transpose());
}

MatrixXd DistributedState::fisher_information(Precision precision) const {
  const Index p = kernels_.order();
  MatrixXd hessian(symmetric_size(p), symmetric_size(p));
  const auto products = curvature(MatrixXd::Identity(p, p), precision);
  for (Index k = 0; k < hessian.cols(); ++k) {
    hessian.col(k) = symmetric_to_vector(
        products->apply(vector_to_symmetric(VectorXd::Unit(hessian.cols(), k), p)));
  }
  return 2.0 * average_information() - 0.5 * (hessian + hessian.transpose());
}

MatrixXd DistributedState::contract_third_derivative(const MatrixXd& sigma,
                                                     Precision precision) const {
  const Index p = kernels_.order();
  const auto products = curvature(MatrixXd::Identity(p, p), precision);
  const MatrixXd root = factor_covariance(sigma);
  MatrixXd sum = MatrixXd::Zero(p, p);
  for (Index m = 0; m < root.cols(); ++m)
    sum += products->apply_twice(vector_to_symmetric(root.col(m), p));
  return sum;
}

Prediction DistributedState::predict(const MatrixXd& test_features) const {
  Prediction prediction;
  prediction.mean = mean_from_dual(test_features, projected_dual_, u_);
  prediction.variance.resize(test_features.rows(), 1);
  for (Index first = 0; first < test_features.rows(); first += kTestRows) {
    const Index count = std::min(kTestRows, test_features.rows() - first);
    const MatrixXd block = test_features.middleRows(first, count);
    const MatrixXd prior =
        mix_paths(block, u_, kernels_.threads()).cwiseProduct(block).rowwise().sum();
    const MatrixXd explained =
        kernels_.together({Task::kExplained, id_, 0.0, block}).explained(id_, block);
    prediction.variance.middleRows(first, count) = (prior - explained.transpose()).cwiseMax(0.0);
  }
  return prediction;
}

/// The part of an order that the other ranks do. Only the first rank uses the result.
void follow(RankPart& part, const Order& order) {
  switch (order.task) {
    case Task::kEvaluate:
      part.evaluate(order.state, order.matrix, order.temperature);
      return;
    case Task::kForget:
      part.forget(order.state);
      return;
    case Task::kExplained:
      part.explained(order.state, order.matrix);
      return;
    case Task::kProjectedInverse:
      part.projected_inverse(order.state, order.matrix);
      return;
    case Task::kFirstOrder:
      part.first_order(order.state, order.matrix);
      return;
    case Task::kSecondOrder:
      part.second_order(order.state, order.matrix);
      return;
    case Task::kQuit:
      return;
  }
}

/// K in blocks on a grid of ranks; second derivatives from products with directions.
void count_distributed(const KernelCounts& s, int ranks, KernelCost& cost) {
  const RankGrid grid(ranks, 0);
  const double rows = 1.0 / grid.rows;
  const double share = rows / grid.columns;
  const double square = kNumber * s.n * s.n * share;
  cost.feature_share = rows + 1.0 / grid.columns;
  const double shared = kNumber * s.features() * cost.feature_share;
  const double unknowns = triangle(s.p);
  const double mixing =  // which the ranks of a row of the grid share where that is worth it
      4.0 * s.features() * s.p * (s.p < static_cast<double>(kPathsWorthSending) ? rows : share);
  const double products = 2.0 * s.n * s.n * s.columns() * share + mixing;
  cost.evaluation_flops = products + std::pow(s.n, 3) * share;
  cost.product_flops = products + 4.0 * s.features() * cost.feature_share;
  cost.hessian_flops = unknowns * cost.product_flops;
  cost.state_bytes = square;
  cost.product_bytes = square + shared;
  cost.hessian_bytes =
      cost.product_bytes + kNumber * unknowns * (2.0 * s.columns() + 2.0 * unknowns);
  cost.third_derivative_flops = 2.0 * unknowns * cost.product_flops;
}

std::string refuse_distributed(const KernelCounts& sizes, const PathKernelOptions& options) {
  if (options.ranks > 1) return needs_one_output(sizes);
  std::vector<std::string> words;
  for (const std::string& word : all_words<KernelForm>()) {
    if (word != word_of(KernelForm::kDistributed)) words.push_back(quoted_text(word));
  }
  const std::string last = words.back();
  words.pop_back();
  return "needs several ranks, as with mpirun -n R headway solve; allowed here: " + join(words) +
         " or " + last;
}

}  // namespace

MatrixXd mean_on_shared_examples(const EnergyState& state) {
  const auto* shared = dynamic_cast<const DistributedState*>(&state);
  return shared == nullptr ? MatrixXd() : shared->mean_on_examples();
}

std::shared_ptr<const PathKernels> lead_distributed_kernels(Ranks& ranks, RankExamples examples,
                                                            Index paths, int threads) {
  return std::make_shared<DistributedKernels>(ranks, std::move(examples), paths, threads);
}

void serve_distributed_kernels(Ranks& ranks, RankExamples examples, Index paths, int threads) {
  RankPart part(ranks, std::move(examples), paths, threads);
  for (Order order = receive_order(ranks); order.task != Task::kQuit; order = receive_order(ranks))
    follow(part, order);
}

const KernelFormDescription& distributed_form() {
  static const KernelFormDescription form = {
      KernelForm::kDistributed,
      "distributed",
      refuse_distributed,
      [](const KernelCounts&, const PathKernelOptions&) { return Claim::kNone; },
      count_distributed,
      [](MatrixXd&&, MatrixXd&&, Index, const PathKernelOptions&,
         const KernelCost&) -> std::shared_ptr<const PathKernels> {
        throw Error(ErrorKind::kInternal, "examples of all ranks in one process");
      }};
  return form;
}

}  // namespace headway::theory
