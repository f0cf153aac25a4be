#include "io/study_file/checks.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "headway/core/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/studies/training.hpp"
#include "io/study_file/fields.hpp"
#include "io/study_file/schema.hpp"
#include "io/study_file/text.hpp"

namespace headway::io::detail {

namespace {

using studies::Study;

constexpr double kMostPaths = 100'000;
constexpr double kMostSweepPoints = 100'000;

[[noreturn]] void refuse_missing(const Value& root, const std::string& path,
                                 const std::string& allowed) {
  const Value* task = find(*root.get<Value::Table>(), "task");
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{}: {} is missing: must be {}",
                          (task != nullptr ? task->place : root.place).text(), path, allowed));
}

/// task.layers[l].heads[h] with its place; both counted from 0 here, from 1 in messages.
const Value& head_value(const Value& root, std::size_t layer, std::size_t head) {
  const Value::Array& layers = *value_at(root, "task.layers")->get<Value::Array>();
  return (*find(*layers[layer].get<Value::Table>(), "heads")->get<Value::Array>())[head];
}

void check_shifts(const Value& root, const tasks::HiddenMarkovChainOptions& task) {
  for (std::size_t l = 0; l < task.layers.size(); ++l) {
    for (std::size_t h = 0; h < task.layers[l].size(); ++h) {
      if (std::abs(task.layers[l][h].shift) <= task.tokens) continue;
      const std::string path = element(element("task.layers", l) + ".heads", h);
      const Value* shift = find(*head_value(root, l, h).get<Value::Table>(), "shift");
      refuse(shift != nullptr ? *shift : head_value(root, l, h), path + ".shift",
             fmt::format("from -{0} to {0}, the number of tokens", task.tokens));
    }
  }
}

void check_hidden_markov_chain(const Value& root, const Study& study) {
  const tasks::HiddenMarkovChainOptions& task = study.task.hidden_markov_chain;
  if (task.layers.empty()) {
    refuse_missing(root, "task.layers",
                   "at least one table [[task.layers]] with heads = [{kind = \"...\"}, ...]");
  }
  if (task.features % 2 != 0) {
    refuse(*value_at(root, "task.features"), "task.features",
           "even: half of the features for each hidden state");
  }
  check_shifts(root, task);
  try {
    task.validate();
  } catch (const Error& error) {  // what only the task knows, such as the size of its heads
    const Value* table = find(*root.get<Value::Table>(), "task");
    throw Error(ErrorKind::kBadStudy, fmt::format("{}: {}", table->place.text(), error.what()));
  }
}

/// List lengths that must fit the number of layers, where the study itself fixes it.
void check_against_layers(const Value& root, const Study& study, const std::vector<int>& heads) {
  const std::size_t layers = heads.size();
  for (std::size_t i = 0; i < study.model.widths.size(); ++i) {
    if (study.model.widths[i].size() == 1 || study.model.widths[i].size() == layers + 1) continue;
    const Value& widths = *value_at(root, "model.widths");
    refuse((*widths.get<Value::Array>())[i], element("model.widths", i),
           fmt::format("one number, or {} of them (N_1, ..., N_L, N_a for L = {} layers)",
                       layers + 1, layers));
  }
  if (study.model.variances.size() != 1 && study.model.variances.size() != layers + 2) {
    refuse(*value_at(root, "model.variances"), "model.variances",
           fmt::format("one number, or {} of them (s_0^2, ..., s_L^2, s_a^2 for L = {} layers)",
                       layers + 2, layers));
  }
  const auto paths = model::path_count<double>(heads);
  if (paths > kMostPaths) {
    const bool in_model = !study.model.heads.empty();
    const Value* place = in_model ? value_at(root, "model.heads") : value_at(root, "task.layers");
    refuse(
        *place, in_model ? "model.heads" : "task.layers",
        fmt::format("such that H_1 ... H_L = {:.3g} paths are at most {:.3g}", paths, kMostPaths));
  }
}

/// The place of the first key of the study that a message such as "train.query_dim = 16: must be a
/// multiple of train.heads = 3" names; that of its table where all of them have their defaults.
Place place_of_message(const Value& root, const std::string& message) {
  for (std::size_t at = 0; at < message.size(); ++at) {
    const std::string section = message.substr(at, 5);
    if (section != "train" && section != "task.") continue;
    const std::size_t dot = message.find('.', at);
    if (dot > at + 5) continue;
    const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_12", dot + 1);
    const Value* found = value_at(root, message.substr(at, end - at));
    if (found != nullptr) return found->place;
  }
  const Value* table = find(*root.get<Value::Table>(), message.substr(0, message.find('.')));
  return (table != nullptr ? *table : root).place;
}

/// A network takes no key of another kind, not even at its default.
void check_network_keys(const Value& root, const Study& study) {
  const training::NetworkKind network = study.train.model.network;
  const bool transformer = network == training::NetworkKind::kTransformer;
  for (const std::string& name : keys_of_other_networks(network)) {
    const Value* found = value_at(root, "train." + name);
    if (found == nullptr) continue;
    refuse(*found, "train." + name,
           transformer ? "absent: it belongs to train.network = \"linear_value\""
                       : "absent: it belongs to train.network = \"transformer\", and a "
                         "linear-value network has layers, model_dim, heads, query_dim, "
                         "keys_start_as_queries, initial_query_scale and query_rate");
  }
}

/// What only task and model know of their options, at the place of the option at fault.
void check_training(const Value& root, const Study& study) {
  if (study.task.kind == "text" && study.task.file.empty()) {
    refuse_missing(root, "task.file", "the path of a text, for kind = \"text\"");
  }
  if (study.task.kind == "omniglot" && study.task.omniglot.files.empty()) {
    refuse_missing(root, "task.files",
                   "the path of an archive or folder of Omniglot, or a list of them, for kind = "
                   "\"omniglot\"");
  }
  check_network_keys(root, study);
  try {
    if (study.task.kind == "omniglot") study.task.omniglot.images.validate();
    if (study.task.kind == "fuzzy_logic") study.task.fuzzy_logic.validate();
    if (study.task.kind == "sraven") study.task.sraven.validate();
    study.train.model.validate();
    studies::resolved_run(study).validate();
  } catch (const Error& error) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("{}: {}", place_of_message(root, error.what()).text(), error.what()));
  }
}

void check_sweep(const Value& root, const Study& study) {
  const double points = static_cast<double>(study.model.widths.size()) *
                        static_cast<double>(study.model.temperatures.size());
  if (points <= kMostSweepPoints) return;
  refuse(*value_at(root, "model.widths"), "model.widths",
         fmt::format("such that widths times temperatures, here {:.0f} points, are at most {:.0f}",
                     points, kMostSweepPoints));
}

}  // namespace

void check_consistency(const Value& root, const Study& study) {
  if (studies::is_training_task(study.task.kind)) return check_training(root, study);
  std::vector<int> heads = study.model.heads;
  if (study.task.kind == "dataset" && study.task.file.empty()) {
    refuse_missing(root, "task.file", "the path of a data-set file, for kind = \"dataset\"");
  }
  if (study.task.kind == "hidden_markov_chain") {
    check_hidden_markov_chain(root, study);
    heads.clear();
    for (const auto& layer : study.task.hidden_markov_chain.layers) {
      heads.push_back(static_cast<int>(layer.size()));
    }
    if (!study.model.heads.empty() && study.model.heads != heads) {
      std::vector<std::string> counts;
      counts.reserve(heads.size());
      for (const int h : heads) counts.push_back(std::to_string(h));
      refuse(*value_at(root, "model.heads"), "model.heads",
             fmt::format("absent, or [{}] as task.layers has it", join(counts)));
    }
  }
  if (!heads.empty()) check_against_layers(root, study, heads);
  check_sweep(root, study);
}

}  // namespace headway::io::detail
