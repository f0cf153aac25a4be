#pragma once

#include "verb.hpp"

namespace headway::cli {

// Columns that tables of several verbs have. --help, the manual pages and README.md here explain
// them in the same words.

inline const Explained kWidthsColumn = {
    "widths", "N, the width of every layer; N_1,...,N_L,N_a where the widths differ"};
inline const Explained kTemperatureColumn = {"T", "temperature, the variance of the label noise"};
inline const Explained kAccuracyColumn = {
    "accuracy",
    "share of the test examples that the mean predictor gets right; \"test MSE\", the mean squared "
    "error, where labels are real numbers"};
inline const Explained kSetsColumns = {
    "validation, ...",
    "the same on each further set of the data, where there is one; \"validation MSE\" is the mean "
    "squared error; in the table of solve each is followed by that of the Gaussian process"};
inline const Explained kReadoutColumn = {
    "U_a", "order parameter of the readout; of several outputs the diagonal of the matrix"};
inline const Explained kDiagonalColumn = {
    "U_1 diagonal", "diagonal of the order parameter of the first layer, one number for each path"};
inline const Explained kSecondsColumn = {"seconds", "time that the row took"};
inline const Explained kSeedsColumn = {"seeds",
                                       "seeds of the networks that the row is a mean over"};
inline const Explained kVariantColumn = {
    "variant", "attention, and what else differs between the runs of the sweep"};

}  // namespace headway::cli
