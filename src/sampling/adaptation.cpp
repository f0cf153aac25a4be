#include "adaptation.hpp"

#include <algorithm>
#include <cmath>

#include "headway/numerics/dense.hpp"

namespace headway::sampling {
namespace {

constexpr int kInitialBuffer = 75;
constexpr int kTerminalBuffer = 50;
constexpr int kBaseWindow = 25;
constexpr int kShortestWarmup = 20;

// Of fewer draws a covariance is singular, or nearly. Trajectories in its empty directions would
// not turn.
constexpr double kDrawsPerUnknown = 5.0;

constexpr int kFirstInformationWindow = 4;
constexpr int kProbes = 8;  // positions a window whose information is averaged, at most

constexpr double kGamma = 0.05;
constexpr double kOffset = 10.0;  // t0
constexpr double kKappa = 0.75;

}  // namespace

WarmupSchedule warmup_schedule(int warmup) {
  WarmupSchedule schedule;
  if (warmup < kShortestWarmup) return schedule;
  int initial = kInitialBuffer;
  int terminal = kTerminalBuffer;
  int window = kBaseWindow;
  if (initial + window + terminal > warmup) {
    initial = static_cast<int>(0.15 * warmup);
    terminal = static_cast<int>(0.1 * warmup);
    window = warmup - initial - terminal;
  }
  schedule.first = initial;
  schedule.last = warmup - terminal;
  int end = initial + window;  // one past the last transition of the window
  while (end < schedule.last) {
    schedule.window_ends.push_back(end - 1);
    window *= 2;
    // A window that would leave less than its double behind it takes all that is left.
    end = end + window + 2 * window > schedule.last ? schedule.last : end + window;
  }
  schedule.window_ends.push_back(schedule.last - 1);
  return schedule;
}

InformationSchedule information_schedule(int warmup) {
  InformationSchedule schedule;
  if (warmup < kShortestWarmup) return schedule;
  const int last = warmup - std::min(kTerminalBuffer, warmup / 4);
  int window = kFirstInformationWindow;
  for (int begin = 0; begin < last; window *= 2) {
    // A window that would leave less than its double behind it takes all that is left.
    const int end = begin + 3 * window > last ? last : begin + window;
    const int probes = std::min(kProbes, end - begin);
    for (int i = 1; i <= probes; ++i)
      schedule.probes.push_back(begin + i * (end - begin) / probes - 1);
    schedule.window_ends.push_back(end - 1);
    begin = end;
  }
  return schedule;
}

void restart(DualAveragingState& state, double step_size) {
  state = DualAveragingState{};
  state.anchor = std::log(10.0 * step_size);
}

double update(DualAveragingState& state, double acceptance, double target) {
  ++state.count;
  const double count = static_cast<double>(state.count);
  const double weight = 1.0 / (count + kOffset);
  const double error = target - std::min(1.0, acceptance);
  state.mean_error = (1.0 - weight) * state.mean_error + weight * error;
  const double log_step = state.anchor - state.mean_error * std::sqrt(count) / kGamma;
  const double forget = std::pow(count, -kKappa);
  state.log_step_mean = (1.0 - forget) * state.log_step_mean + forget * log_step;
  return std::exp(log_step);
}

double averaged_step(const DualAveragingState& state) { return std::exp(state.log_step_mean); }

void reset(CovarianceState& state, Index dimension, bool dense) {
  state.count = 0;
  state.mean = VectorXd::Zero(dimension);
  state.squares = MatrixXd::Zero(dimension, dense ? dimension : 1);
}

void add(CovarianceState& state, const VectorXd& position) {
  ++state.count;
  const VectorXd deviation = position - state.mean;
  state.mean += deviation / static_cast<double>(state.count);
  if (state.squares.cols() == 1) {
    state.squares.col(0).array() += deviation.array() * (position - state.mean).array();
  } else {
    // deviation (position - new mean)^T = deviation deviation^T (count - 1) / count; the lower
    // triangle is enough
    const double count = static_cast<double>(state.count);
    state.squares.selfadjointView<Eigen::Lower>().rankUpdate(deviation, (count - 1.0) / count);
  }
}

MatrixXd regularised_covariance(const CovarianceState& state) {
  const double n = static_cast<double>(state.count);
  const double scale = n / (n + 5.0) / (n - 1.0);
  const double floor = 1e-3 * 5.0 / (n + 5.0);
  if (state.squares.cols() == 1) return ((scale * state.squares).array() + floor).matrix();
  MatrixXd covariance = state.squares.selfadjointView<Eigen::Lower>();
  covariance *= scale;
  const auto d = static_cast<double>(covariance.rows());
  if (n < kDrawsPerUnknown * d) {
    const VectorXd variances = covariance.diagonal();
    covariance *= n / (n + d);
    covariance.diagonal() = variances;
  }
  covariance.diagonal().array() += floor;
  return covariance;
}

void add_information(CovarianceState& state, const MatrixXd& information) {
  if (!information.allFinite()) return;
  ++state.count;
  state.squares += information;
}

MatrixXd inverse_information(const CovarianceState& state) {
  const auto factor = numerics::SpdFactor::factor(state.squares / static_cast<double>(state.count));
  return factor ? factor->inverse() : MatrixXd();
}

}  // namespace headway::sampling
