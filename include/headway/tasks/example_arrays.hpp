#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/types.hpp"

namespace headway::tasks {

/// One array of a set of examples, with its name in messages.
struct ExampleArray {
  std::shared_ptr<const ArraySource> numbers;  ///< null: there is no such array
  std::string place;      ///< "train/targets" of a file, "targets" of an argument
  bool integers = false;  ///< of an integer or boolean type

  [[nodiscard]] bool given() const { return numbers != nullptr; }
  [[nodiscard]] const std::vector<Index>& shape() const { return numbers->shape(); }
};

/// What examples are composed of, such as the shape and the colour of a picture: for `latents`.
struct Factor {
  std::string name;
  ExampleArray values;  ///< [n], integers from 0
};

/// The examples of one split.
struct ArraySet {
  std::string name;      ///< "train", "test", or that of a further set
  ExampleArray tokens;   ///< [n, length], integers; or
  ExampleArray vectors;  ///< [n, length, width]
  ExampleArray
      targets;  ///< integers [n] or [n, length]; reals [n], [n, outputs], [n, length, outputs]
  ExampleArray loss_mask;       ///< [n, length], 0 or 1; with targets of every token alone
  std::vector<Factor> factors;  ///< none: not known

  [[nodiscard]] const ExampleArray& inputs() const { return tokens.given() ? tokens : vectors; }
  [[nodiscard]] Index size() const { return inputs().shape().front(); }
};

/// Examples of one's own, as arrays that stay where they are.
struct ExampleArrays {
  std::string name;            ///< file path or kArraysInMemory, for messages
  std::vector<ArraySet> sets;  ///< "train" first
  std::string content_hash;    ///< SHA-256 (hex)
};

/// Numbers that the arrays do not tell.
struct ArrayCounts {
  Index vocabulary = 0;  ///< of token ids; 0: one more than the largest of train
  Index classes = 0;     ///< of integer targets; 0: one more than the largest of train
  /// Of a network that was trained before: more than train has, where train has fewer.
  Index least_vocabulary = 0, least_classes = 0;
  bool operator==(const ArrayCounts&) const = default;
};

/// What all numbers together say of the task.
struct ArrayFacts {
  Index length = 0;          ///< tokens of an example
  Index width = 0;           ///< numbers of a token; 0 for token ids
  Index vocabulary = 0;      ///< 0 for vectors
  Index classes = 0;         ///< 0 for real targets
  Index outputs = 0;         ///< classes, or real targets of a token
  bool every_token = false;  ///< targets of every token, not of the last alone
  /// With targets of every token: how many tokens at the end have one that counts in some example.
  Index scored = 1;
  bool masked = false;         ///< some target of these tokens does not count
  double counted_share = 1.0;  ///< of the targets of these tokens in train
  bool signs = false;          ///< real targets that are -1 and +1
  std::vector<std::string> warnings;

  /// Numbers of an example, as they are held.
  [[nodiscard]] Index numbers() const {
    const Index tokens = every_token ? length : 1;
    return length * std::max<Index>(width, 1) + tokens * (classes > 0 ? 1 : outputs);
  }
};

/// Reads all numbers once. Error{kBadData}, naming the array, the place in it, the value and what
/// is allowed, unless all sets have arrays of one kind, length, width and number of outputs; all
/// numbers are finite; ids and classes are whole and in their range; masks are 0 or 1 and leave a
/// target in every set; sets that have factors have the same. What a mask hides may be anything.
/// Error{kBadStudy} for a count that the arrays have no use for. Cost: one pass, in blocks of 16
/// MiB.
ArrayFacts check_arrays(const ExampleArrays& arrays, const ArrayCounts& counts);

}  // namespace headway::tasks
