#include "verbs/theory/without_heads.hpp"

#include "headway/analysis/head_scores.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {

using model::ValueForm;

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

TheoryProblem WithoutHeads::problem(const std::vector<int>& removed) const {
  MatrixXd s = solved_.features.value().s;
  const Index inputs = s.rows() / problem_.heads.front();
  for (const int head : removed) {
    s.middleRows(head * inputs, inputs).setZero();
    s.middleCols(head * inputs, inputs).setZero();
  }
  return with_features(problem_, study_, s);
}

}  // namespace headway
