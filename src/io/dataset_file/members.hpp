#pragma once

#include "headway/core/examples.hpp"
#include "headway/core/linear_value_network.hpp"
#include "io/hdf5/record.hpp"

// Where the arrays of a data set in memory stand in its file, for reading and writing alike:
// visit(path, array), an array being a matrix, the matrices of the heads of a layer, or names.
namespace headway::io {

template <class Visit, class Layers>
void visit_layers(const Visit& visit, Layers& layers) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    visit(layer_path("attention/weights", l), layers[l].weights);
    visit(layer_path("attention/query", l), layers[l].query);
    visit(layer_path("attention/key", l), layers[l].key);
    visit(layer_path("names", l), layers[l].names);
  }
}

template <class Visit, class Network>
void visit_network(const Visit& visit, Network& network) {
  visit("network/input", network.input);
  for (std::size_t l = 0; l < network.values.size(); ++l) {
    visit(layer_path("network/values", l), network.values[l]);
  }
  visit("network/readout", network.readout);
}

}  // namespace headway::io
