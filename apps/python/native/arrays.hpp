#pragma once

#include <pybind11/numpy.h>

#include <memory>

#include "headway/dataset.hpp"
#include "headway/order_parameters.hpp"
#include "headway/tasks/example_arrays.hpp"

namespace headway::python {

namespace py = pybind11;

/// What arrays are as a data set, and all that is wrong with them. `given`, of
/// headway/api/arrays.py: "arrays", by their paths in a file (lists are texts, None is an empty
/// group), "heads", "readout", "attention_rows", "name_of" and "learned".
py::dict checked_arrays(const py::dict& given);

/// The data set that headway/api/arrays.py describes: arrays that it has checked, C-contiguous, of
/// float64 or float32. Inputs, attention and path features are not copied: the data set keeps the
/// arrays alive, which must not change while it is in use.
std::shared_ptr<tasks::Dataset> make_dataset(const py::dict& given);

/// Arrays of examples of one's own: [(name of the set, {"tokens": (place in messages, array),
/// ...}),
/// ...]. Arrays are C-contiguous, of a real, integer or boolean type.
std::shared_ptr<tasks::ExampleArrays> make_examples(const py::list& sets,
                                                    const std::string& content_hash);

/// A matrix from an array of two dimensions, or from a number.
MatrixXd matrix_of(const py::handle& value);
/// An array of its own.
py::array array_of(const MatrixXd& matrix);

}  // namespace headway::python
