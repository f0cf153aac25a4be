#pragma once

#include "headway/dataset.hpp"
#include "headway/study.hpp"

namespace headway {

/// Whether the study gives attention a prior, so that it is learned.
inline bool learns_attention(const Study& study) { return study.model.attention_prior.has_value(); }

/// Gives the data the heads of [model.attention_prior], if the study has one. Heads that are given
/// stay there for those that are frozen. Errors: kBadStudy for a prior that does not fit the data,
/// kBadData for data without inputs, or frozen heads without matrices that act on these.
void learn_attention(const Study& study, tasks::Dataset& dataset);

}  // namespace headway
