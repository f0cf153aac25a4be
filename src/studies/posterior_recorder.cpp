#include "posterior_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "headway/core/error.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/theory/predictor.hpp"

namespace headway::studies {
namespace {

void append_lower(const MatrixXd& u, std::vector<double>& out) {
  for (Index i = 0; i < u.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) out.push_back(u(i, j));
  }
}

class ByteWriter {
 public:
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void values(const double* data, std::size_t count) {
    number(count);
    raw(data, count * sizeof(double));
  }
  void matrix(const MatrixXd& m) {
    number(static_cast<std::uint64_t>(m.rows()));
    values(m.data(), static_cast<std::size_t>(m.size()));
  }
  [[nodiscard]] std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  void raw(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    raw(&value, sizeof value);
    return value;
  }
  std::vector<double> values() {
    const std::uint64_t count = number();
    if (count > (bytes_.size() - at_) / sizeof(double)) fail();
    std::vector<double> result(count);
    raw(result.data(), count * sizeof(double));
    return result;
  }
  MatrixXd matrix() {
    const Index rows = static_cast<Index>(number());
    const std::vector<double> data = values();
    const Index count = static_cast<Index>(data.size());
    if (rows < 0 || (rows == 0 ? count != 0 : count % rows != 0)) fail();
    return Eigen::Map<const MatrixXd>(data.data(), rows, rows == 0 ? 0 : count / rows);
  }
  void expect_end() const {
    if (at_ != bytes_.size()) fail();
  }

 private:
  [[noreturn]] static void fail() {
    throw Error(ErrorKind::kBadData, "checkpoint: the record of draws is truncated or damaged");
  }
  void raw(void* out, std::size_t size) {
    if (size > bytes_.size() - at_) fail();
    if (size != 0) std::memcpy(out, bytes_.data() + at_, size);
    at_ += size;
  }
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

/// Mean, sd and diagnostics of every entry of one matrix from the records; `offset` is its first
/// entry in a draw.
SampledMatrix summarize_matrix(const std::vector<ChainRecord>& chains, Index draws, Index entries,
                               Index offset, Index n) {
  SampledMatrix result;
  const Index chain_count = static_cast<Index>(chains.size());
  for (MatrixXd* m :
       {&result.mean, &result.sd, &result.mcse, &result.rhat, &result.ess_bulk, &result.ess_tail}) {
    m->resize(n, n);
  }
  result.draws = Tensor({chain_count, draws, n, n});
  MatrixXd series(draws, chain_count);
  for (Index i = 0, k = offset; i < n; ++i) {
    for (Index j = 0; j <= i; ++j, ++k) {
      for (Index c = 0; c < chain_count; ++c) {
        for (Index d = 0; d < draws; ++d) {
          const double value = chains[static_cast<std::size_t>(c)]
                                   .entries[static_cast<std::size_t>(d * entries + k)];
          series(d, c) = value;
          double* matrix = result.draws.values.data() + (c * draws + d) * n * n;
          matrix[i * n + j] = matrix[j * n + i] = value;
        }
      }
      const sampling::QuantityDiagnostics q = sampling::diagnose_quantity(series);
      result.mean(i, j) = result.mean(j, i) = q.mean;
      result.sd(i, j) = result.sd(j, i) = q.sd;
      result.mcse(i, j) = result.mcse(j, i) = q.mcse_mean;
      result.rhat(i, j) = result.rhat(j, i) = q.rhat;
      result.ess_bulk(i, j) = result.ess_bulk(j, i) = q.ess_bulk;
      result.ess_tail(i, j) = result.ess_tail(j, i) = q.ess_tail;
    }
  }
  return result;
}

double smaller(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : std::min(a, b);
}
double larger(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }

void note_extremes(const SampledMatrix& m, SamplePoint& point) {
  for (Index i = 0; i < m.mean.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      point.rhat_max = larger(point.rhat_max, m.rhat(i, j));
      point.ess_bulk_min = smaller(point.ess_bulk_min, m.ess_bulk(i, j));
      point.ess_tail_min = smaller(point.ess_tail_min, m.ess_tail(i, j));
    }
  }
}

/// Errors from the spread of the chains, which are independent: right at any autocorrelation, but
/// known to a factor of 1 +- 1/sqrt(2 (chains - 1)) only.
void summarize_predictor_errors(const std::vector<ChainRecord>& chains,
                                const Evaluation& evaluation, SamplePoint& point) {
  const MatrixXd& mean = point.predictor.mean;
  MatrixXd squares = MatrixXd::Zero(mean.rows(), mean.cols());
  double accuracy_sum = 0.0;
  double accuracy_squares = 0.0;
  double count = 0.0;
  for (const ChainRecord& chain : chains) {
    if (chain.predictions == 0) continue;
    const MatrixXd own = chain.mean_sum / static_cast<double>(chain.predictions);
    squares += (own.topRows(mean.rows()) - mean).cwiseAbs2();
    const double accuracy = test_statistics(evaluation, own).accuracy;
    accuracy_sum += accuracy;
    accuracy_squares += accuracy * accuracy;
    count += 1.0;
  }
  if (count < 2.0) {
    point.predictor_mcse = MatrixXd::Constant(mean.rows(), mean.cols(), kUndefined);
    return;
  }
  const double degrees = count * (count - 1.0);
  point.predictor_mcse = (squares / degrees).cwiseSqrt();
  const double spread = accuracy_squares - accuracy_sum * accuracy_sum / count;
  point.accuracy_mcse = std::sqrt(std::max(spread, 0.0) / degrees);
}

void summarize_predictor(const std::vector<ChainRecord>& chains, const Evaluation& evaluation,
                         SamplePoint& point) {
  double count = 0.0;
  MatrixXd mean;
  MatrixXd square;
  MatrixXd variance;
  std::vector<double> accuracies;
  for (const ChainRecord& chain : chains) {
    if (chain.predictions == 0) continue;
    if (mean.size() == 0)
      mean = square = variance = MatrixXd::Zero(chain.mean_sum.rows(), chain.mean_sum.cols());
    count += static_cast<double>(chain.predictions);
    mean += chain.mean_sum;
    square += chain.mean_square_sum;
    variance += chain.variance_sum;
    accuracies.insert(accuracies.end(), chain.accuracies.begin(), chain.accuracies.end());
  }
  if (count == 0.0) return;
  mean /= count;
  // Law of total variance: Var f = E[variance given the draw] + Var[mean given the draw].
  const double correction = count > 1.0 ? count / (count - 1.0) : 1.0;
  const MatrixXd spread = correction * (square / count - mean.cwiseAbs2()).cwiseMax(0.0);
  point.predictor = report_evaluation(evaluation, {mean, variance / count + spread});
  summarize_predictor_errors(chains, evaluation, point);
  const Eigen::Map<const VectorXd> a(accuracies.data(), static_cast<Index>(accuracies.size()));
  const numerics::Moments spread = numerics::moments(a);
  point.accuracy_mean = spread.mean;
  point.accuracy_sd = std::sqrt(spread.squares / std::max(1.0, count - 1.0));
}

}  // namespace

PosteriorRecorder::PosteriorRecorder(int chains, bool keep_positions, Index draws,
                                     Index predictor_draws, const Evaluation& evaluation)
    : keep_positions_(keep_positions),
      draws_(std::max<Index>(1, draws)),
      predictor_draws_(evaluation.examples() > 0 ? std::min(predictor_draws, draws_) : 0),
      evaluation_(evaluation),
      chains_(chains) {}

bool PosteriorRecorder::predicts(Index draw) const {
  return (draw + 1) * predictor_draws_ / draws_ > draw * predictor_draws_ / draws_;
}

void PosteriorRecorder::record(const sampling::Draw& draw, sampling::Target& target) {
  auto* posterior = dynamic_cast<posterior::PosteriorTarget*>(&target);
  if (posterior == nullptr)
    throw Error(ErrorKind::kInternal, "sample: the target describes no network");
  ChainRecord& chain = chains_.at(static_cast<std::size_t>(draw.chain));
  const bool predict = predicts(chain.draws);
  posterior::PosteriorDraw seen = posterior->observe(draw.position, predict);
  for (const MatrixXd& u : seen.order_parameters.layers) append_lower(u, chain.entries);
  append_lower(seen.order_parameters.readout, chain.entries);
  if (keep_positions_)
    chain.positions.insert(chain.positions.end(), draw.position.begin(), draw.position.end());
  ++chain.draws;
  if (!predict) return;
  if (chain.predictions == 0) {
    chain.mean_sum = chain.mean_square_sum = chain.variance_sum =
        MatrixXd::Zero(seen.mean.rows(), seen.mean.cols());
  }
  ++chain.predictions;
  chain.mean_sum += seen.mean;
  chain.mean_square_sum += seen.mean.cwiseAbs2();
  chain.variance_sum += seen.variance;
  chain.accuracies.push_back(test_statistics(evaluation_, seen.mean).accuracy);
}

Index PosteriorRecorder::common_draws() const {
  Index common = std::numeric_limits<Index>::max();
  for (const ChainRecord& chain : chains_) common = std::min(common, chain.draws);
  return common;
}

std::vector<std::uint8_t> PosteriorRecorder::to_bytes() const {
  ByteWriter writer;
  writer.number(chains_.size());
  for (const ChainRecord& chain : chains_) {
    writer.number(static_cast<std::uint64_t>(chain.draws));
    writer.number(static_cast<std::uint64_t>(chain.predictions));
    for (const std::vector<double>* v : {&chain.entries, &chain.positions, &chain.accuracies}) {
      writer.values(v->data(), v->size());
    }
    for (const MatrixXd* m : {&chain.mean_sum, &chain.mean_square_sum, &chain.variance_sum})
      writer.matrix(*m);
  }
  return writer.take();
}

void PosteriorRecorder::from_bytes(std::span<const std::uint8_t> bytes) {
  ByteReader reader(bytes);
  if (reader.number() != chains_.size()) {
    throw Error(ErrorKind::kBadStudy,
                "checkpoint: it has another number of chains than sample.chains");
  }
  for (ChainRecord& chain : chains_) {
    chain.draws = static_cast<Index>(reader.number());
    chain.predictions = static_cast<Index>(reader.number());
    for (std::vector<double>* v : {&chain.entries, &chain.positions, &chain.accuracies})
      *v = reader.values();
    for (MatrixXd* m : {&chain.mean_sum, &chain.mean_square_sum, &chain.variance_sum})
      *m = reader.matrix();
  }
  reader.expect_end();
}

void summarize_record(const std::vector<ChainRecord>& chains, const std::vector<Index>& sizes,
                      const Evaluation& evaluation, SamplePoint& point) {
  Index draws = std::numeric_limits<Index>::max();
  for (const ChainRecord& chain : chains) draws = std::min(draws, chain.draws);
  point.draws = draws;
  Index entries = 0;
  for (Index n : sizes) entries += n * (n + 1) / 2;
  Index offset = 0;
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    SampledMatrix matrix = summarize_matrix(chains, draws, entries, offset, sizes[l]);
    note_extremes(matrix, point);
    offset += sizes[l] * (sizes[l] + 1) / 2;
    if (l + 1 < sizes.size()) {
      point.order_parameters.push_back(std::move(matrix));
    } else {
      point.readout_order_parameter = std::move(matrix);
    }
  }
  summarize_predictor(chains, evaluation, point);
}

MatrixXd recorded_positions(const std::vector<ChainRecord>& chains, Index dimension, Index draws) {
  MatrixXd all(dimension, draws * static_cast<Index>(chains.size()));
  Index column = 0;
  for (const ChainRecord& chain : chains) {
    all.middleCols(column, draws) =
        Eigen::Map<const MatrixXd>(chain.positions.data(), dimension, draws);
    column += draws;
  }
  return all;
}

}  // namespace headway::studies
