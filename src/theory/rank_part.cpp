#include "rank_part.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "headway/core/deal.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/error.hpp"
#include "headway/numerics/tiles.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

using numerics::multiply_tiled;
using numerics::Transpose;

constexpr Index kStripRows = 256;            // a sharing rank; fewer make products slow
constexpr Index kStripNumbers = 32'000'000;  // of features, at most
constexpr Index kNumbersAtOnce = 4'000'000;  // of a sum over ranks

MatrixXd product_of(const Eigen::Ref<const MatrixXd, 0, Eigen::OuterStride<>>& a, Transpose ta,
                    const Eigen::Ref<const MatrixXd, 0, Eigen::OuterStride<>>& b, Transpose tb,
                    int threads) {
  MatrixXd c(ta == Transpose::kYes ? a.cols() : a.rows(),
             tb == Transpose::kYes ? b.rows() : b.cols());
  if (a.size() == 0 || b.size() == 0) return MatrixXd::Zero(c.rows(), c.cols());
  multiply_tiled(a, ta, b, tb, c, threads);
  return c;
}

std::span<double> numbers_of(MatrixXd& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }

/// Adds `part` to this rank's own rows of `whole`.
void add_to_rows(MatrixXd& whole, const BlockCyclic& own, const MatrixXd& part) {
  own.for_each_run([&](Index first, Index count, Index at) {
    whole.middleRows(first, count) += part.middleRows(at, count);
  });
}

/// Copies this rank's own rows of `whole` into the columns of `part` from `first` on.
void take_rows(const MatrixXd& whole, const BlockCyclic& own, Index first, MatrixXd& part) {
  own.for_each_run([&](Index row, Index count, Index at) {
    part.block(at, first, count, whole.cols()) = whole.middleRows(row, count);
  });
}

MatrixXd own_rows(const MatrixXd& whole, const BlockCyclic& own) {
  MatrixXd part(own.count(), whole.cols());
  take_rows(whole, own, 0, part);
  return part;
}

}  // namespace

void require_shared_cholesky(Ranks& ranks, const SharedSquare& place) {
  if (ranks.shared_cholesky(place) != nullptr) return;
  throw Error(ErrorKind::kUnavailable,
              "solve.kernels = \"distributed\": this build has no ScaLAPACK. Install it (Debian, "
              "Ubuntu: apt-get install libscalapack-openmpi-dev), configure and build again");
}

RankPart::RankPart(Ranks& ranks, RankExamples examples, Index paths, int threads)
    : ranks_(ranks),
      place_(examples.place),
      labels_(std::move(examples.labels)),
      features_{std::move(examples.rows), std::move(examples.columns)},
      paths_(paths),
      threads_(threads),
      cholesky_(ranks.shared_cholesky(place_)),
      sharers_(paths >= kPathsWorthSending ? place_.grid.columns : 1),
      sharer_(sharers_ > 1 ? place_.grid.column : 0),
      strips_(place_.strips(std::min(kStripRows * sharers_,
                                     kStripNumbers / std::max<Index>(1, features_.rows.cols())))) {}

bool RankPart::agree(const std::function<void()>& step) const {
  return headway::agree(ranks_, step);
}

MatrixXd RankPart::total(const MatrixXd& mine) const {
  MatrixXd total;
  in_step(ranks_, [&] {
    TreeSum sum;
    sum.push(static_cast<std::size_t>(ranks_.rank()),
             std::vector<double>(mine.data(), mine.data() + mine.size()));
    const std::vector<double> all = total_over_ranks(ranks_, std::move(sum));
    total = Eigen::Map<const MatrixXd>(all.data(), mine.rows(), mine.cols());
  });
  return total;
}

RankPart::Rows RankPart::share_of(const SharedSquare::Strip& strip, int sharer) const {
  const Index first = strip.rows * sharer / sharers_;
  return {strip.row + first, strip.rows * (sharer + 1) / sharers_ - first};
}

void RankPart::for_each_partner(
    const std::function<void(int sharer, int rank, bool first)>& f) const {
  // All ranks of a row take the pairs in one order, so no two ranks wait for each other.
  for (int other = 0; other < sharers_; ++other) {
    if (other != sharer_) f(other, place_.grid.row * place_.grid.columns + other, sharer_ < other);
  }
}

void RankPart::exchange_with_partners(std::vector<MatrixXd>& of_sharers) const {
  const std::span<double> own = numbers_of(of_sharers[static_cast<std::size_t>(sharer_)]);
  for_each_partner([&](int sharer, int rank, bool first) {
    if (first) ranks_.send_numbers(rank, own);
    ranks_.receive_numbers(rank, numbers_of(of_sharers[static_cast<std::size_t>(sharer)]));
    if (!first) ranks_.send_numbers(rank, own);
  });
}

std::optional<MatrixXd> RankPart::kernel(const MatrixXd& u) {
  MatrixXd k;
  if (!agree([&] { k = MatrixXd::Zero(place_.rows.count(), place_.columns.count()); })) return {};
  for (const SharedSquare::Strip& strip : strips_) {
    std::vector<MatrixXd> mixed(static_cast<std::size_t>(sharers_));  // of each one's rows
    const auto mix = [&] {
      for (int sharer = 0; sharer < sharers_; ++sharer) {
        const Rows rows = share_of(strip, sharer);
        mixed[static_cast<std::size_t>(sharer)] =
            sharer == sharer_
                ? mix_paths(MatrixXd(features_.rows.middleRows(rows.first, rows.count)), u,
                            threads_)
                : MatrixXd(rows.count, features_.rows.cols());
      }
    };
    if (!agree(mix)) return {};
    if (strip.rows == 0) continue;
    in_step(ranks_, [&] {
      exchange_with_partners(mixed);
      for (int sharer = 0; sharer < sharers_; ++sharer) {
        const Rows rows = share_of(strip, sharer);
        if (rows.count == 0 || strip.columns == 0) continue;
        multiply_tiled(mixed[static_cast<std::size_t>(sharer)], Transpose::kNo,
                       features_.columns.topRows(strip.columns), Transpose::kYes,
                       k.block(rows.first, 0, rows.count, strip.columns), threads_);
      }
    });
  }
  return k;
}

template <class Function>
void RankPart::for_diagonal(Function f) const {
  for (Index j = 0; j < place_.columns.count(); ++j) {
    const Index i = place_.columns.global(j);
    const Index row = place_.rows.count_below(i);
    if (row < place_.rows.count() && place_.rows.global(row) == i) f(i, row, j);
  }
}

void RankPart::halve(MatrixXd& lower) const {
  for (Index j = 0; j < lower.cols(); ++j)
    lower.col(j).head(place_.rows.count_below(place_.columns.global(j))).setZero();
  for_diagonal([&](Index, Index row, Index j) { lower(row, j) *= 0.5; });
}

RankPart::Rows RankPart::rows_of_its_own() const {
  if (!place_.grid.has_place()) return {};
  const Index rows = place_.rows.count();
  const Index first = rows * place_.grid.column / place_.grid.columns;
  return {first, rows * (place_.grid.column + 1) / place_.grid.columns - first};
}

std::optional<MatrixXd> RankPart::contract(const MatrixXd& b, const SharedRows& f) {
  MatrixXd sum = MatrixXd::Zero(paths_, paths_);
  const Index n0 = f.rows.cols() / paths_;
  for (const SharedSquare::Strip& strip : strips_) {
    const Rows own = share_of(strip, sharer_);
    std::vector<MatrixXd> right(static_cast<std::size_t>(sharers_));  // of each one's rows
    MatrixXd left, other;
    const auto multiply_rows = [&] {
      for (int sharer = 0; sharer < sharers_; ++sharer) {
        const Rows rows = share_of(strip, sharer);
        right[static_cast<std::size_t>(sharer)] =
            product_of(b.block(rows.first, 0, rows.count, strip.columns), Transpose::kNo,
                       f.columns.topRows(strip.columns), Transpose::kNo, threads_);
      }
      left = f.rows.middleRows(own.first, own.count);
      if (sharers_ > 1) other.resize(own.count, left.cols());
    };
    if (!agree(multiply_rows)) return {};
    if (strip.rows == 0) continue;
    MatrixXd& mine = right[static_cast<std::size_t>(sharer_)];
    in_step(ranks_, [&] {
      for_each_partner([&](int sharer, int rank, bool first) {
        if (first) ranks_.send_numbers(rank, numbers_of(right[static_cast<std::size_t>(sharer)]));
        ranks_.receive_numbers(rank, numbers_of(other));
        if (!first) ranks_.send_numbers(rank, numbers_of(right[static_cast<std::size_t>(sharer)]));
        mine += other;
      });
      const Eigen::Map<const MatrixXd> by_path(left.data(), own.count * n0, paths_);
      const Eigen::Map<const MatrixXd> image(mine.data(), own.count * n0, paths_);
      sum += product_of(by_path, Transpose::kYes, image, Transpose::kNo, threads_);
    });
  }
  return sum;
}

std::optional<SharedRows> RankPart::multiply(const MatrixXd& b, const SharedRows& f) const {
  SharedRows result;
  const Index columns = features_.rows.cols();
  const Index at_once = std::clamp<Index>(kNumbersAtOnce / place_.rows.size, 1, columns);
  for (Index first = 0; first < columns; first += at_once) {
    const Index count = std::min(at_once, columns - first);
    MatrixXd whole;
    const bool fine = agree([&] {
      if (first == 0) {
        result.rows.resize(f.rows.rows(), columns);
        result.columns.resize(f.columns.rows(), columns);
      }
      whole = MatrixXd::Zero(place_.rows.size, count);
      MatrixXd lower = MatrixXd::Zero(f.rows.rows(), count);
      MatrixXd upper = MatrixXd::Zero(f.columns.rows(), count);
      for (const SharedSquare::Strip& strip : strips_) {
        const auto part = b.block(strip.row, 0, strip.rows, strip.columns);
        lower.middleRows(strip.row, strip.rows) =
            product_of(part, Transpose::kNo, f.columns.block(0, first, strip.columns, count),
                       Transpose::kNo, threads_);
        upper.topRows(strip.columns) +=
            product_of(part, Transpose::kYes, f.rows.block(strip.row, first, strip.rows, count),
                       Transpose::kNo, threads_);
      }
      add_to_rows(whole, place_.rows, lower);
      add_to_rows(whole, place_.columns, upper);
    });
    if (!fine) return std::nullopt;
    whole = total(whole);
    take_rows(whole, place_.rows, first, result.rows);
    take_rows(whole, place_.columns, first, result.columns);
  }
  return result;
}

void RankPart::solve_labels(MatrixXd& a, double temperature, Evaluation& result) const {
  MatrixXd mine = MatrixXd::Zero(place_.rows.size, 3);
  for_diagonal([&](Index i, Index row, Index j) {
    mine(i, 2) = a(row, j);
    a(row, j) += temperature;
  });
  // Ranks without a place in the grid are told the outcome.
  std::array<double, 1> positive{cholesky_->factor(a) ? 1.0 : 0.0};
  broadcast(ranks_, positive);
  result.positive = positive[0] != 0.0;
  if (!result.positive) return;
  VectorXd b = own_rows(labels_, place_.rows);
  cholesky_->solve(a, b);
  for_diagonal([&](Index i, Index row, Index j) { mine(i, 0) = a(row, j); });
  if (place_.grid.column == 0) {
    place_.rows.for_each_run([&](Index first, Index count, Index at) {
      mine.col(1).segment(first, count) = b.segment(at, count);
    });
  }
  const MatrixXd vectors = total(mine);
  result.pivots = vectors.col(0);
  result.alpha = vectors.col(1);
  result.squares = vectors.col(2);
  cholesky_->invert(a);
  halve(a);
}

RankPart::Evaluation RankPart::evaluate(int id, const MatrixXd& u, double temperature) {
  Evaluation result;
  std::optional<MatrixXd> k = kernel(u);
  if (!k) return result;
  MatrixXd a = *std::move(k);
  in_step(ranks_, [&] { solve_labels(a, temperature, result); });
  if (!result.positive) return result;
  const std::optional<MatrixXd> traces_here = contract(a, features_);
  MatrixXd projected;
  if (!traces_here || !agree([&] {
        const auto [first, count] = rows_of_its_own();
        projected = product_of(features_.rows.middleRows(first, count), Transpose::kYes,
                               own_rows(result.alpha, place_.rows).middleRows(first, count),
                               Transpose::kNo, threads_);
        states_[id] = {u, std::move(a), {}};
      })) {
    return {};
  }
  result.traces = symmetric_total(traces_here);
  projected = total(projected);
  result.projected =
      Eigen::Map<const MatrixXd>(projected.data(), projected.size() / paths_, paths_);
  return result;
}

MatrixXd RankPart::explained(int id, const MatrixXd& test_features) {
  MatrixXd mine;
  if (!agree([&] {
        const State& state = states_.at(id);
        const MatrixXd mixed = mix_paths(test_features, state.u, threads_);
        const MatrixXd left =
            product_of(features_.rows, Transpose::kNo, mixed, Transpose::kYes, threads_);
        const MatrixXd right =
            product_of(features_.columns, Transpose::kNo, mixed, Transpose::kYes, threads_);
        mine = MatrixXd::Zero(1, test_features.rows());
        for (const SharedSquare::Strip& strip : strips_) {
          const MatrixXd image =
              product_of(state.inverse.block(strip.row, 0, strip.rows, strip.columns),
                         Transpose::kNo, right.topRows(strip.columns), Transpose::kNo, threads_);
          mine += 2.0 * left.middleRows(strip.row, strip.rows).cwiseProduct(image).colwise().sum();
        }
      })) {
    return {};
  }
  return total(mine);
}

MatrixXd RankPart::projected_inverse(int id, const MatrixXd& u) {
  MatrixXd mine;
  if (!agree([&] {
        const MatrixXd& b = states_.at(id).inverse;
        const MatrixXd by_row =
            product_of(features_.rows, Transpose::kNo, u, Transpose::kNo, threads_);
        const MatrixXd by_column =
            product_of(features_.columns, Transpose::kNo, u, Transpose::kNo, threads_);
        MatrixXd lower = MatrixXd::Zero(by_row.rows(), u.cols());
        MatrixXd upper = MatrixXd::Zero(by_column.rows(), u.cols());
        for (const SharedSquare::Strip& strip : strips_) {
          const auto part = b.block(strip.row, 0, strip.rows, strip.columns);
          lower.middleRows(strip.row, strip.rows) = product_of(
              part, Transpose::kNo, by_column.topRows(strip.columns), Transpose::kNo, threads_);
          upper.topRows(strip.columns) +=
              product_of(part, Transpose::kYes, by_row.middleRows(strip.row, strip.rows),
                         Transpose::kNo, threads_);
        }
        mine = product_of(features_.rows, Transpose::kYes, lower, Transpose::kNo, threads_) +
               product_of(features_.columns, Transpose::kYes, upper, Transpose::kNo, threads_);
      })) {
    return {};
  }
  return total(mine);
}

bool RankPart::solve_features(State& state) const {
  if (!state.solved) state.solved = multiply(state.inverse, features_);
  return state.solved.has_value();
}

std::optional<MatrixXd> RankPart::kernel_change(State& state, const MatrixXd& d) {
  if (!solve_features(state)) return {};
  std::optional<MatrixXd> change = kernel(d);
  if (change) halve(*change);
  return change;
}

MatrixXd RankPart::symmetric_total(const std::optional<MatrixXd>& mine) const {
  if (!mine) return {};
  const MatrixXd sum = total(*mine);
  return sum + sum.transpose();
}

MatrixXd RankPart::first_order(int id, const MatrixXd& d) {
  State& state = states_.at(id);
  const std::optional<MatrixXd> change = kernel_change(state, d);
  if (!change) return {};
  return symmetric_total(contract(*change, *state.solved));
}

MatrixXd RankPart::second_order(int id, const MatrixXd& d) {
  State& state = states_.at(id);
  const std::optional<MatrixXd> change = kernel_change(state, d);
  if (!change) return {};
  const std::optional<SharedRows> image = multiply(*change, *state.solved);
  if (!image) return {};
  return symmetric_total(contract(state.inverse, *image));
}

}  // namespace headway::theory
