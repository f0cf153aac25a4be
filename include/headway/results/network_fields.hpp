#pragma once

#include "headway/core/record.hpp"

namespace headway {

/// Which trained network a record is about: the members run, label, variant and seed of `Record`.
template <class Visitor, class Record>
void fields_of_network(Visitor& visit, Record& r) {
  visit("run", r.run, "number of the run in the training study, counted from 1");
  visit("label", r.label, "the run in short: what the sweep sets, seeds left out");
  visit("variant", r.variant,
        "attention variant, with \" + mixture\" or \" + encoder\" if it has them");
  visit("seed", r.seed, "seed of the run");
}

}  // namespace headway
