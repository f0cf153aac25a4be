#pragma once

#include <span>

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/rank_results.hpp"
#include "headway/study.hpp"
#include "headway/train_task.hpp"
#include "headway/verbs/networks/trained.hpp"

namespace headway {

/// `headway rank` of a data set of contributions of one layer: frozen cuts. A part is taken off,
/// and all else stays as it was, also what the part feeds: this is no removal. The readout is a
/// ridge regression from the sum of the parts to the labels, and each training example is left out
/// of it in turn. Columns:
///   frozen_cut_fixed, frozen_cut_refitted   rise of the squared error without a part
///   expected_frozen_cut_fixed, expected_frozen_cut_refitted   what the readout itself expects of
///   it cut_without_theory, cut_of_theory   rise for the theory's predictor with U = 1, and with
///   its
///     own U at N = 10, at the temperature that makes the first the readout
/// The estimate is analysis::combine() of study.rank.readout. Errors: kBadData for contributions of
/// several layers, for data of another form, for labels that cannot be told apart, and for more
/// examples than the memory holds kernels of. Cost for p parts and P examples of C classes: p
/// inversions of (C P)^3 with the theory, P^3 without.
RankResult rank_parts(const Study& study, const tasks::Dataset& dataset,
                      Observer& observer = no_observer());

/// The same of the heads of trained transformers. A head is removed from the network itself: its
/// output becomes its mean or 0, and all layers above are computed again. The examples are those of
/// the split that selects checkpoints, which no test uses. Columns: removal_MODE_READOUT and
/// expected_MODE_READOUT for the modes mean and zero; both cuts, of the parts of the head's layer;
/// gradient (eq. 21 of training), weight_norm, and attention_entropy in nats where attention sums
/// to 1. Errors: kBadStudy for texts, encoders and linear-value networks; kBadData where the heads
/// have no effect, and as above for labels and memory. The removal checks itself first
/// (training::check_removal()). Cost: two reference passes over study.rank.examples for each head.
RankResult rank_networks(const Study& study, std::span<const TrainedNetwork> networks,
                         const TaskMaker& make_task, Observer& observer = no_observer());

}  // namespace headway
