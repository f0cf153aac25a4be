#pragma once

#include <string>

#include "headway/studies/results.hpp"

namespace headway::cli {

/// "mean+-error", the mean in `format`; "-" where there is none.
std::string estimate_text(const analysis::Estimate& estimate, const char* format);

/// The trained network of a data set: its accuracy on every set, what each head is worth to it, and
/// its pruning in the orders that are not the theory's. "" where there is none.
std::string network_table(const studies::PruneResult& result);

/// Its pruning in the order of the theory's scores at one point, and how well they agree with what
/// each head is worth. "" where there is none.
std::string network_orders_text(const studies::PrunePoint& point);

}  // namespace headway::cli
