#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/dataset.hpp"

namespace headway::tasks {

/// What a hand-made head of the hidden-Markov task attends to (src/tasks/README.md, eq. 2; [T24,
/// figure 2]). With F token features, S positions, q = (v_+ - v_-) / |v_+|^2, and W acting as
/// logits[query s, key t] = x_s^T W x_t:
enum class HeadKind {
  /// Features: q q^T. Positions (query s, key t): 1 where t = s + shift and both are tokens; 1.5
  /// where t is the beginning-of-sequence token and s is not; else 0.
  kSameToken,
  kDifferentToken,  ///< as kSameToken, with -q q^T
  kUniform,         ///< features 0, all ones on positions: equal attention to every key
  kRandom,  ///< R: features randn / F, positions randn, the two cross blocks randn / sqrt(F)
};

Words<HeadKind> words_of(HeadKind);

struct HeadOptions {
  HeadKind kind = HeadKind::kUniform;
  /// Key position minus query position that the positional part rewards; -tokens <= shift <=
  /// tokens. Only the same-token and different-token heads have such a part.
  int shift = -1;
  double beta = 10.0;  ///< inverse temperature of the softmax, part of W; >= 0; 0 attends uniformly
  /// Strength of R: W = beta (M_kind + perturbation R). For a random head M is zero, and 0 stands
  /// for 1.
  double perturbation = 0.0;
  std::string name;  ///< empty: made from the kind, as "same token"

  /// The keys of a head in [[task.layers]].
  static const OptionTable<HeadOptions>& table();
};

/// The hidden-Markov classification task of [T24] (src/tasks/README.md, eq. 1). Defaults are the
/// paper's.
///
/// Labels: +1 for the first half of a split (one more when its size is odd), then -1. A hidden
/// chain of two states starts with a fair coin and stays with the class's probability at each step.
/// Token t (1..tokens) of state +-:
///   features = v_{+-} + noise.
/// v_+ is sqrt(2) on the first half of the features and 0 on the second, v_- the other way round.
/// The noise is a standard normal vector; its components along v_+ - v_-, along v_+ + v_- and out
/// of that plane are multiplied by noise[0], noise[1], noise[2]. The beginning-of-sequence token 0
/// has zero features. Behind these features each token has its position, one-hot, in tokens + 1
/// further ones.
struct HiddenMarkovChainOptions {
  Index train_examples = 100;
  Index test_examples = 1000;  ///< 0: no test split
  Index tokens = 30;           ///< without the beginning-of-sequence token: S = tokens + 1
  Index features = 200;        ///< token features F, even; N_0 = features + tokens + 1
  std::array<double, 2> stay_probability = {0.7, 0.3};  ///< of class +1 and of class -1
  std::array<double, 3> noise = {1.0, 1.0,
                                 1.0};           ///< along v_+ - v_-, along v_+ + v_-, out of plane
  std::vector<std::vector<HeadOptions>> layers;  ///< heads of layers 1..L

  /// [task] kind = "hidden_markov_chain"
  static const OptionTable<HiddenMarkovChainOptions>& table();
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// Draws the data set. Examples are not stored: every read draws them again, from their own
/// streams, so a split of any size costs no memory. Random streams (core/rng.hpp) and the order of
/// draws in each:
///   (seed, kTaskParameters, layer 2^20 + head), both counted from 1: R of a head that has one, row
///     by row, N_0^2 normals, each scaled for its block;
///   (seed, kTrainExamples or kTestExamples, example), counted from 0: one uniform for the first
///     state, one for the state of each later token, then the noise, token by token, F normals
///     each.
/// Cost: heads N_0^2 doubles at once, then (F normals) per token read.
Dataset make_hidden_markov_chain(const HiddenMarkovChainOptions& options, std::uint64_t seed);

}  // namespace headway::tasks
