#pragma once

#include <string>
#include <vector>

#include "headway/tasks/example_arrays.hpp"

/// Private to check_arrays(): what can be said of examples before their numbers are read.
namespace headway::tasks {

/// The sizes of all sets. Error{kBadData} as check_arrays() for a type or a shape.
ArrayFacts check_shapes(const ExampleArrays& arrays);

/// "[3, 7]"
std::string shape_text(const std::vector<Index>& shape);

}  // namespace headway::tasks
