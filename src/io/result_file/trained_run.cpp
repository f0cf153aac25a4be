#include "io/result_file/trained_run.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "headway/core/text.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

using training::CurveRow;

std::vector<CurveRow> read_curve(const Hdf5InputFile& file, const std::string& path) {
  const auto names = file.text_attribute(path, "columns");
  if (!names) bad_data("{}, attribute columns: is missing", path);
  CurveRow row;
  ColumnWriter known;
  fields(known, row);
  std::vector<std::string> metrics = split(*names, ',');  // behind those that every row has
  metrics.erase(metrics.begin(), metrics.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min(known.size(), metrics.size())));
  for (const std::string& name : metrics) row.record.metrics.push_back({name, 0.0});
  return read_columns(file, path, FieldLayout::kTable, row);
}

std::vector<training::TrainRecord> read_records(const Hdf5InputFile& file,
                                                const std::string& group) {
  std::map<std::string, std::vector<CurveRow>> curves;
  for (const std::string& split : file.members(group + "/curves")) {
    curves[split] = read_curve(file, group + "/curves/" + split);
  }
  return training::records_of(curves);
}

}  // namespace

TrainedRun read_trained_run(const Hdf5InputFile& file, const std::string& group) {
  RecordShapes shapes;
  shapes.keys = split(file.text_attribute(group, "splits").value_or(""), ',');
  shapes.keys.emplace_back("all");  // of ceilings, behind those of the splits
  RecordReader reader(file, group, shapes);
  TrainedRun run;
  fields(reader, run);
  run.records = read_records(file, group);
  if (file.kind(group + "/state") != NodeKind::kGroup) return run;
  training::TrainState& state = run.state;
  reader("state", state, "state of the optimiser");
  if (state.best_step >= 0) state.best_parameters = state.parameters;  // the same names
  reader("weights", state.parameters, "weights at the last step");
  reader("best_weights", state.best_parameters, "weights at the best step", {.optional = true});
  return run;
}

std::string read_tokenizer(const Hdf5InputFile& file, const std::string& group) {
  std::vector<std::uint8_t> bytes;
  RecordReader(file, group)("tokenizer", bytes, "a SentencePiece model", {.optional = true});
  return {bytes.begin(), bytes.end()};
}

std::optional<training::TaskFormat> read_format(const Hdf5InputFile& file,
                                                const std::string& group) {
  if (file.kind(group + "/format") != NodeKind::kGroup) return std::nullopt;
  training::TaskFormat format;
  RecordReader(file, group)("format", format, "what the network was told of its examples");
  try {
    format.validate();
  } catch (const Error& error) {
    bad_data("{}/format: {}", group, error.what());
  }
  return format;
}

void read_kept_weights(const Hdf5InputFile& file, const std::string& group, TrainedRun& run) {
  if (file.kind(group + "/weights") != NodeKind::kGroup) return;
  RecordReader reader(file, group);
  reader("weights", run.state.parameters, "weights at the last step");
  if (run.summary.best_step >= 0) {
    reader("best_weights", run.state.best_parameters, "weights at the best step");
  }
  run.tokenizer = read_tokenizer(file, group);
  run.format = read_format(file, group);
}

}  // namespace headway::io
