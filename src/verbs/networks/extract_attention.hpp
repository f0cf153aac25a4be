#pragma once

#include "headway/extract.hpp"
#include "headway/training/contributions.hpp"
#include "verbs/networks/part_reader.hpp"

/// Private to `extract`: the two forms of a data set that have inputs and attention.
namespace headway {

/// Whether a data set of this study has inputs and attention, and no path features.
bool has_inputs(const ExtractOptions& wanted);

/// Error{kBadStudy} where the wanted form is none of this network: "attention" needs attention that
/// sums to 1 over the keys, "value_network" HYLA's values of one hidden layer, the last layer alone
/// and a squared error. Both need the last token.
void require_form(const Study& study, const training::TaskFormat& format,
                  const std::vector<Index>& layers);

/// Inputs and attention matrices of the kept layers. Form "value_network": labels lose what the
/// network's answers are made of beside the heads of its last layer, and their mean over training.
/// Inputs get one factor, such that the mean diagonal of the Gaussian process's kernel is 1.
void extract_attention(const PartReader& reader, const training::FrozenNetwork& network,
                       const std::vector<Part>& parts, const Study& study,
                       const training::TaskFormat& format, ExtractResult& out);

}  // namespace headway
