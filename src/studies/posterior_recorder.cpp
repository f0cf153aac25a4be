#include "posterior_recorder.hpp"

#include <algorithm>
#include <cstring>

#include "headway/core/error.hpp"

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

}  // namespace headway::studies
