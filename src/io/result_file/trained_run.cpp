#include "io/result_file/trained_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

using studies::TrainedRun;
using training::NamedTensor;
using training::TrainRecord;
using training::TrainState;

[[noreturn]] void bad(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kBadData, fmt::format("{}: {}", where, what));
}

// --- weights and state ---------------------------------------------------------------------------

void write_tensors(const std::string& group, const std::vector<NamedTensor>& tensors,
                   Hdf5OutputFile& out) {
  for (const NamedTensor& tensor : tensors) {
    out.write(fmt::format("{}/{}", group, tensor.name), tensor.shape, tensor.values.data());
  }
}

std::vector<NamedTensor> read_tensors(const Hdf5InputFile& file, const std::string& group,
                                      const std::vector<std::string>& names) {
  std::vector<NamedTensor> out;
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", group, name);
    if (file.kind(path) != NodeKind::kDataset) bad(path, "is missing");
    const Tensor values = file.read_array(path);
    out.push_back({name, values.shape, {values.values.begin(), values.values.end()}});
  }
  return out;
}

void add_to_hash(const std::vector<NamedTensor>& tensors, Sha256& hash) {
  for (const NamedTensor& tensor : tensors) {
    hash.update(fmt::format("{} [{}]\n", tensor.name, fmt::join(tensor.shape, ", ")));
    hash.update(tensor.values.data(), tensor.values.size() * sizeof(float));
  }
}

std::string state_hash(const TrainState& state) {
  Sha256 hash;
  hash.update(fmt::format("{} {} {} {} {:a} {:a} {}\n", state.step, state.examples, state.seed,
                          state.best_step, state.best_loss, state.loss_since_record,
                          state.steps_since_record));
  for (const auto* tensors :
       {&state.parameters, &state.first_moments, &state.second_moments, &state.best_parameters}) {
    add_to_hash(*tensors, hash);
  }
  return hash.hex_digest();
}

void write_state(const std::string& group, const TrainState& state, Hdf5OutputFile& out) {
  const std::string at = group + "/state";
  write_record(at, state, out);
  out.set(at, "sha256", state_hash(state));
  std::vector<std::string> names;
  for (const NamedTensor& tensor : state.parameters) names.push_back(tensor.name);
  out.write_strings(at + "/names", names);
  write_tensors(at + "/first_moments", state.first_moments, out);
  write_tensors(at + "/second_moments", state.second_moments, out);
}

TrainState read_state(const Hdf5InputFile& file, const std::string& group) {
  const std::string at = group + "/state";
  if (file.kind(at) != NodeKind::kGroup) return {};
  auto state = read_record<TrainState>(file, at);
  const std::vector<std::string> names = file.read_strings(at + "/names");
  state.parameters = read_tensors(file, group + "/weights", names);
  state.first_moments = read_tensors(file, at + "/first_moments", names);
  state.second_moments = read_tensors(file, at + "/second_moments", names);
  if (state.best_step >= 0) {
    state.best_parameters = read_tensors(file, group + "/best_weights", names);
  }
  if (state_hash(state) != file.text_attribute(at, "sha256")) {
    bad(at, "the numbers are not those that were written");
  }
  return state;
}

// --- curves --------------------------------------------------------------------------------------

/// A record with its number among those of all splits.
struct CurveRow {
  std::size_t number = 0;
  TrainRecord record;
};
template <class Visitor, RecordOf<CurveRow> Record>
void fields(Visitor& visit, Record& r) {
  visit("record", r.number, "its number among those of all splits");
  fields(visit, r.record);
}

void write_curves(const std::string& group, const std::vector<TrainRecord>& records,
                  Hdf5OutputFile& out) {
  std::map<std::string, std::vector<CurveRow>> by_split;
  for (std::size_t i = 0; i < records.size(); ++i) {
    by_split[records[i].split].push_back({i, records[i]});
  }
  RecordWriter writer(out, group);
  for (const auto& [split, rows] : by_split) {
    writer("curves/" + split, rows, "of a split", {.layout = FieldLayout::kTable});
  }
}

/// Fills a row from the columns of a table.
struct RowVisitor {
  const std::string& path;
  const std::vector<std::string>& columns;
  const double* row;

  template <class T>
  void operator()(const std::string& name, T& value, const char* /*meaning*/) const {
    const auto column = std::find(columns.begin(), columns.end(), name);
    if (column == columns.end()) bad(path, "has no column " + name);
    const double number = row[column - columns.begin()];
    if (std::is_integral_v<T> && !(number >= 0.0 && number <= 1e15)) {
      bad(path, fmt::format("holds a {} that is no whole number", name));
    }
    value = static_cast<T>(number);
  }
};

void read_curve(const Hdf5InputFile& file, const std::string& group, const std::string& split,
                std::vector<CurveRow>& out) {
  const std::string path = fmt::format("{}/curves/{}", group, split);
  const auto text = file.text_attribute(path, "columns");
  if (!text) bad(path + ", attribute columns", "is missing");
  const std::vector<std::string> columns = studies::split_names(*text);
  const Tensor table = file.read_array(path);
  if (columns.empty() || table.shape.size() != 2 ||
      table.shape[1] != static_cast<Index>(columns.size())) {
    bad(path, fmt::format("has shape {}; allowed: [records, {}]", shape_text(table.shape),
                          columns.size()));
  }
  const std::size_t known = 1 + [] {  // columns of a row without metrics
    ColumnWriter plain;
    const TrainRecord none;
    fields(plain, none);
    return plain.columns().size();
  }();
  for (std::size_t i = 0; i + columns.size() <= table.values.size(); i += columns.size()) {
    CurveRow& row = out.emplace_back();
    row.record.split = split;
    for (std::size_t m = known; m < columns.size(); ++m) {
      row.record.metrics.push_back({columns[m], 0.0});
    }
    RowVisitor visit{path, columns, table.values.data() + i};
    fields(visit, row);
  }
}

std::vector<TrainRecord> read_records(const Hdf5InputFile& file, const std::string& group) {
  std::vector<CurveRow> rows;
  if (file.kind(group + "/curves") == NodeKind::kGroup) {
    for (const std::string& split : file.members(group + "/curves")) {
      read_curve(file, group, split, rows);
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const CurveRow& a, const CurveRow& b) { return a.number < b.number; });
  std::vector<TrainRecord> out;
  for (CurveRow& row : rows) out.push_back(std::move(row.record));
  return out;
}

}  // namespace

void write_trained_run(const std::string& group, const TrainedRun& run, KeptWeights kept,
                       Hdf5OutputFile& out) {
  write_record(group, run, out);
  write_curves(group, run.records, out);
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
  return studies::settings_of(file.read_strings(group + "/settings"));
}

TrainedRun read_trained_run(const Hdf5InputFile& file, const std::string& group) {
  RecordShapes shapes;
  shapes.keys = studies::split_names(file.text_attribute(group, "splits").value_or(""));
  auto run = read_record<TrainedRun>(file, group, shapes);
  run.records = read_records(file, group);
  run.state = read_state(file, group);
  return run;
}

}  // namespace headway::io
