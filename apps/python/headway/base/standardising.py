"""When a column of embeddings counts as constant. src/analysis/ridge_readout.cpp has the same rule, and says why."""

CONSTANT = 1e-6  # a deviation of at most this share of the mean is float32 rounding
