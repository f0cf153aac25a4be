#include "io/result_file/trained_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"

namespace headway::io {
namespace {

using studies::TrainedRun;
using training::NamedTensor;
using training::TrainRecord;
using training::TrainState;

constexpr const char* kFirstColumns =
    "record,step,loss,learning_rate,gradient_norm,steps_per_second";
constexpr std::size_t kFirstColumnCount = 6;

void write_tensors(const std::string& group, const std::vector<NamedTensor>& tensors,
                   Hdf5OutputFile& out) {
  for (const NamedTensor& tensor : tensors) {
    out.write_floats(fmt::format("{}/{}", group, tensor.name), tensor.shape, tensor.values.data());
  }
}

void add_to_hash(const std::vector<NamedTensor>& tensors, Sha256& hash) {
  for (const NamedTensor& tensor : tensors) {
    hash.update(fmt::format("{} [{}]\n", tensor.name, fmt::join(tensor.shape, ", ")));
    hash.update(tensor.values.data(), tensor.values.size() * sizeof(float));
  }
}

std::string number_text(double value) { return fmt::format("{:a}", value); }

std::string state_hash(const TrainState& state) {
  Sha256 hash;
  hash.update(fmt::format("{} {} {} {} {} {} {}\n", state.step, state.examples, state.seed,
                          state.best_step, number_text(state.best_loss),
                          number_text(state.loss_since_record), state.steps_since_record));
  add_to_hash(state.parameters, hash);
  add_to_hash(state.first_moments, hash);
  add_to_hash(state.second_moments, hash);
  add_to_hash(state.best_parameters, hash);
  return hash.hex_digest();
}

std::vector<std::string> names_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

void write_state(const std::string& group, const TrainState& state, Hdf5OutputFile& out) {
  const std::string at = group + "/state";
  out.set(at, "step", std::int64_t{state.step});
  out.set(at, "examples", std::int64_t{state.examples});
  out.set_unsigned(at, "seed", state.seed);
  out.set(at, "best_step", std::int64_t{state.best_step});
  out.set(at, "best_loss", state.best_loss);
  out.set(at, "loss_since_record", state.loss_since_record);
  out.set(at, "steps_since_record", std::int64_t{state.steps_since_record});
  out.set(at, "sha256", state_hash(state));
  out.write_strings(at + "/names", names_of(state.parameters));
  write_tensors(at + "/first_moments", state.first_moments, out);
  write_tensors(at + "/second_moments", state.second_moments, out);
}

void write_curves(const std::string& group, const std::vector<TrainRecord>& records,
                  Hdf5OutputFile& out) {
  std::map<std::string, std::vector<std::size_t>> by_split;
  for (std::size_t i = 0; i < records.size(); ++i) by_split[records[i].split].push_back(i);
  for (const auto& [split, indices] : by_split) {
    const std::string path = fmt::format("{}/curves/{}", group, split);
    std::string columns = kFirstColumns;
    const auto& metrics = records[indices.front()].metrics;
    for (const training::Metric& metric : metrics) columns += "," + metric.name;
    const std::size_t width = kFirstColumnCount + metrics.size();
    std::vector<double> values;
    values.reserve(width * indices.size());
    for (const std::size_t i : indices) {
      const TrainRecord& r = records[i];
      values.insert(values.end(), {static_cast<double>(i), static_cast<double>(r.step), r.loss,
                                   r.learning_rate, r.gradient_norm, r.steps_per_second});
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        values.push_back(m < r.metrics.size() ? r.metrics[m].value : studies::kUndefined);
      }
    }
    out.write(path, {static_cast<Index>(indices.size()), static_cast<Index>(width)}, values.data());
    out.set(path, "columns", columns);
  }
}

void write_final(const std::string& group, const training::TrainSummary& summary,
                 Hdf5OutputFile& out) {
  std::vector<std::string> splits;
  for (const auto& [split, evaluation] : summary.evaluations) {
    const std::string at = fmt::format("{}/final/{}", group, split);
    std::vector<std::string> names;
    out.set(at, "examples", std::int64_t{evaluation.examples});
    out.set(at, "loss", evaluation.loss);
    for (const training::Metric& metric : evaluation.metrics) {
      out.set(at, metric.name, metric.value);
      names.push_back(metric.name);
    }
    out.set(at, "metrics", fmt::format("{}", fmt::join(names, ",")));
    splits.push_back(split);
  }
  out.set(group, "splits", fmt::format("{}", fmt::join(splits, ",")));
}

void write_numbers(const std::string& group, const TrainedRun& run, Hdf5OutputFile& out) {
  const training::TrainSummary& summary = run.summary;
  out.set(group, "label", run.label);
  out.set(group, "variant", run.variant);
  out.set_unsigned(group, "seed", run.seed);
  out.set(group, "device", run.cost.device);
  out.set(group, "parameters", std::int64_t{run.cost.parameters});
  out.set(group, "flops_per_step", run.cost.flops_per_step);
  out.set(group, "attention_flops_per_step", run.cost.attention_flops_per_step);
  out.set(group, "outcome", std::string(studies::to_string(summary.outcome)));
  out.set(group, "message", summary.message);
  out.set(group, "steps", std::int64_t{summary.steps});
  out.set(group, "train_loss", studies::final_train_loss(run));
  out.set(group, "last_train_loss", summary.last_train_loss);
  out.set(group, "best_step", std::int64_t{summary.best_step});
  out.set(group, "best_loss", summary.best_loss);
  out.set(group, "best_split", summary.best_split);
  out.set(group, "training_seconds", run.training_seconds);
  out.set(group, "steps_per_second", summary.steps_per_second);
  out.set(group, "flops_per_second", summary.flops_per_second);
  out.set(group, "sample", run.sample);
  std::vector<std::string> settings;
  for (const studies::Setting& s : run.settings) {
    settings.push_back(s.key);
    settings.push_back(s.value);
  }
  out.write_strings(group + "/settings", settings);
}

void write_ceilings(const std::string& group, const TrainedRun& run, Hdf5OutputFile& out) {
  for (const auto& [split, best] : run.ceilings) {
    const std::string at = fmt::format("{}/ceiling/{}", group, split);
    out.set(at, "instances", std::int64_t{best.instances});
    for (const auto& [name, value] : studies::ceiling_numbers(best)) out.set(at, name, value);
  }
}

/// Reads one group; a fault is an Error that names the place.
class RunReader {
 public:
  RunReader(const Hdf5InputFile& file, std::string group) : file_(file), group_(std::move(group)) {}

  [[nodiscard]] TrainedRun run() const;

 private:
  [[noreturn]] static void bad(const std::string& where, const std::string& what) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: {}", where, what));
  }
  [[nodiscard]] std::string text(const std::string& object, const char* name) const {
    auto value = file_.text_attribute(object, name);
    if (!value) bad(fmt::format("{}, attribute {}", object, name), "is missing");
    return *std::move(value);
  }
  [[nodiscard]] double number(const std::string& object, const std::string& name) const {
    const auto values = file_.number_attribute(object, name);
    if (values && values->size() == 1) return values->front();
    bad(fmt::format("{}, attribute {}", object, name),
        values ? "allowed: one number" : "is missing");
  }
  [[nodiscard]] Index whole(const std::string& object, const char* name) const {
    const double value = number(object, name);
    if (!(value >= -1.0 && value <= 1e15 && value == std::floor(value))) {
      bad(fmt::format("{}, attribute {}", object, name),
          fmt::format("is {}; allowed: a whole number", value));
    }
    return static_cast<Index>(value);
  }
  [[nodiscard]] std::uint64_t seed(const std::string& object) const {
    const auto value = file_.unsigned_attribute(object, "seed");
    if (!value) bad(object + ", attribute seed", "is missing");
    return *value;
  }
  [[nodiscard]] std::vector<NamedTensor> tensors(const std::string& group,
                                                 const std::vector<std::string>& names) const;
  [[nodiscard]] TrainState state() const;
  [[nodiscard]] std::vector<TrainRecord> records() const;
  void read_curve(const std::string& split, std::vector<std::pair<double, TrainRecord>>& out) const;
  [[nodiscard]] training::TrainSummary summary() const;

  const Hdf5InputFile& file_;
  std::string group_;
};

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<NamedTensor> RunReader::tensors(const std::string& group,
                                            const std::vector<std::string>& names) const {
  std::vector<NamedTensor> out;
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", group, name);
    if (file_.kind(path) != NodeKind::kDataset) bad(path, "is missing");
    const Tensor values = file_.read_array(path);
    out.push_back({name, values.shape, {values.values.begin(), values.values.end()}});
  }
  return out;
}

TrainState RunReader::state() const {
  TrainState state;
  const std::string at = group_ + "/state";
  if (file_.kind(at) != NodeKind::kGroup) return state;
  state.step = whole(at, "step");
  state.examples = whole(at, "examples");
  state.seed = seed(at);
  state.best_step = whole(at, "best_step");
  state.best_loss = number(at, "best_loss");
  state.loss_since_record = number(at, "loss_since_record");
  state.steps_since_record = whole(at, "steps_since_record");
  const std::vector<std::string> names = file_.read_strings(at + "/names");
  state.parameters = tensors(group_ + "/weights", names);
  state.first_moments = tensors(at + "/first_moments", names);
  state.second_moments = tensors(at + "/second_moments", names);
  if (state.best_step >= 0) state.best_parameters = tensors(group_ + "/best_weights", names);
  if (state_hash(state) != text(at, "sha256")) {
    bad(at, "the numbers are not those that were written");
  }
  return state;
}

void RunReader::read_curve(const std::string& split,
                           std::vector<std::pair<double, TrainRecord>>& out) const {
  const std::string path = fmt::format("{}/curves/{}", group_, split);
  const std::vector<std::string> columns = split_words(text(path, "columns"));
  const Tensor table = file_.read_array(path);
  if (columns.size() < kFirstColumnCount || table.shape.size() != 2 ||
      table.shape[1] != static_cast<Index>(columns.size())) {
    bad(path, fmt::format("has shape {}; allowed: [records, {}]", shape_text(table.shape),
                          columns.size()));
  }
  for (std::size_t i = 0; i + columns.size() <= table.values.size(); i += columns.size()) {
    const double* row = table.values.data() + i;
    if (!(row[1] >= 0.0 && row[1] <= 1e15)) bad(path, "holds a step that is no whole number");
    TrainRecord record;
    record.split = split;
    record.step = static_cast<Index>(row[1]);
    record.loss = row[2];
    record.learning_rate = row[3];
    record.gradient_norm = row[4];
    record.steps_per_second = row[5];
    for (std::size_t m = kFirstColumnCount; m < columns.size(); ++m) {
      record.metrics.push_back({columns[m], row[m]});
    }
    out.emplace_back(row[0], std::move(record));
  }
}

std::vector<TrainRecord> RunReader::records() const {
  std::vector<std::pair<double, TrainRecord>> numbered;
  const std::string group = group_ + "/curves";
  if (file_.kind(group) == NodeKind::kGroup) {
    for (const std::string& split : file_.members(group)) read_curve(split, numbered);
  }
  std::sort(numbered.begin(), numbered.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TrainRecord> out;
  out.reserve(numbered.size());
  for (auto& [index, record] : numbered) out.push_back(std::move(record));
  return out;
}

training::TrainSummary RunReader::summary() const {
  training::TrainSummary out;
  out.outcome = studies::parse_outcome(text(group_, "outcome"));
  out.message = text(group_, "message");
  out.steps = whole(group_, "steps");
  out.last_train_loss = number(group_, "last_train_loss");
  out.best_step = whole(group_, "best_step");
  out.best_loss = number(group_, "best_loss");
  out.best_split = file_.text_attribute(group_, "best_split").value_or("");
  out.steps_per_second = number(group_, "steps_per_second");
  out.flops_per_second = number(group_, "flops_per_second");
  for (const std::string& split : split_words(text(group_, "splits"))) {
    const std::string at = fmt::format("{}/final/{}", group_, split);
    training::Evaluation evaluation;
    evaluation.examples = whole(at, "examples");
    evaluation.loss = number(at, "loss");
    for (const std::string& name : split_words(text(at, "metrics"))) {
      evaluation.metrics.push_back({name, number(at, name)});
    }
    out.evaluations.emplace_back(split, std::move(evaluation));
  }
  return out;
}

TrainedRun RunReader::run() const {
  TrainedRun run;
  run.settings = trained_run_settings(file_, group_);
  run.label = text(group_, "label");
  run.variant = text(group_, "variant");
  run.seed = seed(group_);
  run.cost.device = text(group_, "device");
  run.cost.parameters = whole(group_, "parameters");
  run.cost.flops_per_step = number(group_, "flops_per_step");
  run.cost.attention_flops_per_step = number(group_, "attention_flops_per_step");
  run.training_seconds = number(group_, "training_seconds");
  run.sample = text(group_, "sample");
  run.summary = summary();
  run.records = records();
  run.state = state();
  return run;
}

}  // namespace

void write_trained_run(const std::string& group, const TrainedRun& run, KeptWeights kept,
                       Hdf5OutputFile& out) {
  write_numbers(group, run, out);
  write_curves(group, run.records, out);
  write_final(group, run.summary, out);
  write_ceilings(group, run, out);
  if (kept == KeptWeights::kNone || run.state.parameters.empty()) return;
  write_tensors(group + "/weights", run.state.parameters, out);
  write_tensors(group + "/best_weights", run.state.best_parameters, out);
  if (kept == KeptWeights::kWholeState) {
    write_state(group, run.state, out);  // the tokenizer is learned again to the same model
  } else if (!run.tokenizer.empty()) {
    out.write_bytes(group + "/tokenizer", run.tokenizer);
  }
}

std::vector<studies::Setting> trained_run_settings(const Hdf5InputFile& file,
                                                   const std::string& group) {
  std::vector<studies::Setting> out;
  const std::vector<std::string> words = file.read_strings(group + "/settings");
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) out.push_back({words[i], words[i + 1]});
  return out;
}

TrainedRun read_trained_run(const Hdf5InputFile& file, const std::string& group) {
  return RunReader(file, group).run();
}

}  // namespace headway::io
