#include "verbs/theory/without_heads.hpp"

#include "headway/analysis/head_scores.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {

using model::ValueForm;

WithoutHeads::WithoutHeads(const TheoryProblem& problem, const Study& study,
                           const SolvePoint& solved)
    : problem_(problem), study_(study) {
  if (!changes_kernels()) return;
  s_ = solved.features.value().s;
  for (int h = 0; h < problem_.heads.front(); ++h) without_one_.push_back(make({h}));
}

MatrixXd WithoutHeads::order_parameter(const MatrixXd& u, const std::vector<int>& removed) const {
  // One readout for all heads: only kernels know them.
  if (problem_.values && study_.model.value_network->form == ValueForm::kAfterAttention) return u;
  return analysis::remove_heads(u, problem_.heads, problem_.outputs, removed);
}

bool WithoutHeads::changes_kernels() const {
  if (!problem_.values) return false;
  const ValueForm form = study_.model.value_network->form;
  return form == ValueForm::kHyla || form == ValueForm::kAfterAttention;
}

std::shared_ptr<const TheoryProblem> WithoutHeads::problem(const std::vector<int>& removed) const {
  return removed.size() == 1 ? without_one_.at(static_cast<std::size_t>(removed.front()))
                             : make(removed);
}

std::shared_ptr<const TheoryProblem> WithoutHeads::make(const std::vector<int>& removed) const {
  MatrixXd s = s_;
  const Index inputs = s.rows() / problem_.heads.front();
  for (const int head : removed) {
    s.middleRows(head * inputs, inputs).setZero();
    s.middleCols(head * inputs, inputs).setZero();
  }
  return std::make_shared<const TheoryProblem>(with_features(problem_, study_, s));
}

}  // namespace headway
