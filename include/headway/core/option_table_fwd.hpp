#pragma once

namespace headway {

/// The keys of `Owner`, a struct of options, with their ranges and words: core/option_table.hpp.
template <class Owner>
struct OptionTable;

}  // namespace headway
