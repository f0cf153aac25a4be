#pragma once

#include <string>

#include "headway/prune_results.hpp"
#include "headway/theory_results.hpp"

namespace headway::cli {

/// "mean +- error"; "-" where there is none.
std::string estimate_text(const analysis::Estimate& estimate, const char* format);

/// The trained network that a data set carries: its accuracy on every set, what it loses without
/// each head, and its pruning in all orders but those of the theory. "" where there is none.
std::string carried_network_table(const PruneResult& result);

/// Its pruning in the order of the theory's scores at one point, and how well these agree with what
/// it loses without each head. "" where there is none.
std::string network_orders_text(const PrunePoint& point);

}  // namespace headway::cli
