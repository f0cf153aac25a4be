// The prior of learned attention, and where its weights lie in a vector.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/model/learned_attention.hpp"
#include "headway/numerics/dense.hpp"
#include "model/attention.hpp"

namespace headway::model {
namespace {

[[noreturn]] void bad(const std::string& key, const std::string& message) {
  throw Error(ErrorKind::kBadStudy, "model.attention_prior." + key + " = " + message);
}

/// M of the logits x_s^T M x_t of a given head.
MatrixXd logit_matrix(const LayerHeads& layer, std::size_t head) {
  if (!layer.weights.empty()) return layer.weights[head];
  const MatrixXd& query = layer.query[head];
  return query.transpose() * layer.key[head] / std::sqrt(static_cast<double>(query.rows()));
}

}  // namespace

Words<AttentionPriorForm> words_of(AttentionPriorForm) {
  static constexpr Word<AttentionPriorForm> kWords[] = {
      {"matrix", AttentionPriorForm::kMatrix}, {"queries_keys", AttentionPriorForm::kQueriesKeys}};
  return kWords;
}

Words<LearnedKind> words_of(LearnedKind) {
  static constexpr Word<LearnedKind> kWords[] = {{"softmax", LearnedKind::kSoftmax},
                                                 {"linear", LearnedKind::kLinear}};
  return kWords;
}

bool AttentionPrior::is_frozen(std::size_t layer, int head) const {
  return std::any_of(frozen.begin(), frozen.end(), [&](const HeadAddress& address) {
    return address.layer == layer && address.head == head;
  });
}

void AttentionPrior::validate(Index features) const {
  if (heads.empty()) bad("heads", "[]: must have one entry H_l >= 1 for each layer");
  for (const int h : heads) {
    if (h < 1)
      bad("heads", fmt::format("[{}]: must be whole numbers of at least 1", join(heads, ", ")));
  }
  if (!(variance > 0.0) || !std::isfinite(variance)) {
    bad("variance", fmt::format("{}: must be a finite number above 0", variance));
  }
  if (form == AttentionPriorForm::kQueriesKeys && (dims < 1 || dims > features)) {
    bad("dims", fmt::format("{}: must be a whole number from 1 to {}, the number of input features",
                            dims, features));
  }
  for (const HeadAddress& address : frozen) {
    const bool there =
        address.layer < heads.size() && address.head >= 0 && address.head < heads[address.layer];
    if (there) continue;
    bad("frozen",
        fmt::format("[{}, {}]: must be a layer from 1 to {} and one of its heads, heads "
                    "being [{}]",
                    address.layer + 1, address.head + 1, heads.size(), join(heads, ", ")));
  }
}

AttentionCoordinates::AttentionCoordinates(AttentionPrior prior, Index features)
    : prior_(std::move(prior)), features_(features) {
  prior_.validate(features);
  if (prior_.form == AttentionPriorForm::kMatrix) prior_.dims = 0;
  for (std::size_t l = 0; l < prior_.heads.size(); ++l) {
    offsets_.emplace_back();
    for (int h = 0; h < prior_.heads[l]; ++h) {
      const bool frozen = prior_.is_frozen(l, h);
      offsets_.back().push_back(frozen ? -1 : dimension_);
      if (!frozen) dimension_ += head_size();
    }
  }
}

Index AttentionCoordinates::offset(std::size_t layer, int head) const {
  return offsets_[layer][static_cast<std::size_t>(head)];
}

Index AttentionCoordinates::head_size() const {
  return prior_.form == AttentionPriorForm::kMatrix ? features_ * features_
                                                    : 2 * prior_.dims * features_;
}

double AttentionCoordinates::logit_scale() const {
  const double scale = std::sqrt(prior_.variance) / static_cast<double>(features_);
  return prior_.form == AttentionPriorForm::kMatrix
             ? scale
             : scale / std::sqrt(static_cast<double>(prior_.dims));
}

std::vector<std::string> AttentionCoordinates::names() const {
  std::vector<std::string> names;
  const auto append = [&](const char* letter, std::size_t layer, int head, Index rows) {
    for (Index j = 1; j <= features_; ++j) {
      for (Index i = 1; i <= rows; ++i) {
        names.push_back(fmt::format("{}_{}^{}[{},{}]", letter, layer + 1, head + 1, i, j));
      }
    }
  };
  for (std::size_t l = 0; l < prior_.heads.size(); ++l) {
    for (int h = 0; h < prior_.heads[l]; ++h) {
      if (offset(l, h) < 0) continue;
      if (prior_.form == AttentionPriorForm::kMatrix) {
        append("W", l, h, features_);
      } else {
        append("Q", l, h, prior_.dims);
        append("K", l, h, prior_.dims);
      }
    }
  }
  return names;
}

MatrixXd AttentionCoordinates::weights(const Eigen::Ref<const VectorXd>& z, std::size_t layer,
                                       int head) const {
  const Index at = offset(layer, head);
  if (at < 0) throw Error(ErrorKind::kInternal, "a frozen head has no weights");
  const double deviation = std::sqrt(prior_.variance);
  using ConstMap = Eigen::Map<const MatrixXd>;
  if (prior_.form == AttentionPriorForm::kMatrix) {
    return deviation * ConstMap(z.data() + at, features_, features_);
  }
  const ConstMap q(z.data() + at, prior_.dims, features_);
  const ConstMap k(z.data() + at + q.size(), prior_.dims, features_);
  return deviation / std::sqrt(static_cast<double>(prior_.dims)) * q.transpose() * k;
}

VectorXd AttentionCoordinates::of_heads(const std::vector<LayerHeads>& given) const {
  if (given.size() != prior_.heads.size()) {
    throw Error(ErrorKind::kBadData, fmt::format("attention of {} layers is given, not of {}",
                                                 given.size(), prior_.heads.size()));
  }
  VectorXd z = VectorXd::Zero(dimension_);
  for (std::size_t l = 0; l < given.size(); ++l) {
    validate_layer(given[l], static_cast<int>(l) + 1, prior_.heads[l], features_);
    for (int h = 0; h < prior_.heads[l]; ++h) {
      const Index at = offset(l, h);
      if (at < 0) continue;
      // The matrix that the weights in z must give, so that logits come out as in `given`.
      const MatrixXd m = logit_matrix(given[l], static_cast<std::size_t>(h)) / logit_scale();
      if (prior_.form == AttentionPriorForm::kMatrix) {
        z.segment(at, m.size()) = m.reshaped();
        continue;
      }
      // Of all W_Q and W_K with this product, these have the smallest norm.
      const numerics::SingularValues svd = numerics::singular_values(m);
      const Index g = prior_.dims;
      const VectorXd root = svd.values.head(g).cwiseSqrt();
      const MatrixXd q = root.asDiagonal() * svd.left.leftCols(g).transpose();
      const MatrixXd k = root.asDiagonal() * svd.right.leftCols(g).transpose();
      z.segment(at, q.size()) = q.reshaped();
      z.segment(at + q.size(), k.size()) = k.reshaped();
    }
  }
  return z;
}

VectorXd AttentionCoordinates::permuted(const Eigen::Ref<const VectorXd>& z, std::size_t layer,
                                        const std::vector<int>& order) const {
  VectorXd out = z;
  for (int h = 0; h < prior_.heads.at(layer); ++h) {
    const int from = order.at(static_cast<std::size_t>(h));
    if (from == h) continue;
    if (offset(layer, h) < 0 || offset(layer, from) < 0) {
      throw Error(ErrorKind::kInternal, "frozen heads cannot be exchanged");
    }
    out.segment(offset(layer, h), head_size()) = z.segment(offset(layer, from), head_size());
  }
  return out;
}

}  // namespace headway::model
