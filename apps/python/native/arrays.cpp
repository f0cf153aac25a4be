#include "arrays.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/words.hpp"
#include "headway/study.hpp"

namespace headway::python {
namespace {

/// The numbers of an array where they lie, row-major. Whoever drops the last hold on the array need
/// not hold Python's lock.
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(const py::handle& value) {
    const auto array = py::reinterpret_borrow<py::array>(value);
    shape_.assign(array.shape(), array.shape() + array.ndim());
    single_ = array.itemsize() == sizeof(float);
    data_ = array.data();
    owner_ = std::shared_ptr<PyObject>(py::object(array).release().ptr(), [](PyObject* object) {
      const py::gil_scoped_acquire lock;
      Py_DECREF(object);
    });
  }

  [[nodiscard]] Index extent(std::size_t axis) const { return shape_.at(axis); }
  [[nodiscard]] bool empty() const { return shape_.empty(); }

  void read_rows(Index begin, Index count, double* out) const {
    Index row = 1;
    for (std::size_t axis = 1; axis < shape_.size(); ++axis) row *= shape_[axis];
    if (single_) {
      std::copy_n(static_cast<const float*>(data_) + begin * row, count * row, out);
    } else {
      std::copy_n(static_cast<const double*>(data_) + begin * row, count * row, out);
    }
  }

  /// Matrix i of an array [n, rows, columns].
  [[nodiscard]] MatrixXd matrix(Index i) const {
    RowMatrixXd out(extent(1), extent(2));
    read_rows(i, 1, out.data());
    return out;
  }

 private:
  std::shared_ptr<PyObject> owner_;
  const void* data_ = nullptr;
  std::vector<Index> shape_;
  bool single_ = false;
};

class ArrayFeatures final : public tasks::FeatureSource {
 public:
  explicit ArrayFeatures(Numbers features) : features_(std::move(features)) {}
  void read(Index begin, Index count, double* out) const override {
    features_.read_rows(begin, count, out);
  }

 private:
  Numbers features_;
};

/// What stands at masked tokens has been set to zero.
class ArrayExamples final : public ExampleSource {
 public:
  ArrayExamples(Numbers inputs, std::vector<std::uint8_t> mask, std::vector<Numbers> attention)
      : inputs_(std::move(inputs)), mask_(std::move(mask)), attention_(std::move(attention)) {}

  [[nodiscard]] Index size() const override { return inputs_.extent(0); }
  [[nodiscard]] Index tokens() const override { return inputs_.extent(1); }
  [[nodiscard]] Index features() const override { return inputs_.extent(2); }
  [[nodiscard]] bool has_mask() const override { return !mask_.empty(); }
  [[nodiscard]] bool thread_safe() const override { return true; }
  void read_inputs(Index begin, Index count, double* out) const override {
    inputs_.read_rows(begin, count, out);
  }
  void read_mask(Index begin, Index count, std::uint8_t* out) const override {
    if (mask_.empty()) return ExampleSource::read_mask(begin, count, out);
    std::copy_n(mask_.data() + begin * tokens(), count * tokens(), out);
  }
  void read_attention(int layer, Index begin, Index count, double* out) const override {
    if (layer < 1 || static_cast<std::size_t>(layer) > attention_.size()) {
      return ExampleSource::read_attention(layer, begin, count, out);
    }
    attention_[static_cast<std::size_t>(layer - 1)].read_rows(begin, count, out);
  }

 private:
  Numbers inputs_;
  std::vector<std::uint8_t> mask_;
  std::vector<Numbers> attention_;
};

std::vector<Numbers> numbers_of(const py::dict& given, const char* name) {
  std::vector<Numbers> out;
  if (!given.contains(name)) return out;
  for (const py::handle value : py::reinterpret_borrow<py::list>(given[name])) {
    out.emplace_back(value);
  }
  return out;
}

tasks::Split split_of(const py::dict& given) {
  tasks::Split split;
  const Numbers labels(given["labels"]);
  RowMatrixXd values(labels.extent(0), labels.extent(1));
  labels.read_rows(0, values.rows(), values.data());
  split.labels = values;
  if (given.contains("ids")) split.ids = given["ids"].cast<std::vector<std::string>>();
  if (given.contains("path_features")) {
    split.feature_source = std::make_shared<ArrayFeatures>(Numbers(given["path_features"]));
    return split;
  }
  std::vector<std::uint8_t> mask;
  if (given.contains("mask")) {
    const auto bytes = given["mask"].cast<py::array_t<std::uint8_t, py::array::c_style>>();
    mask.assign(bytes.data(), bytes.data() + bytes.size());
  }
  split.examples = std::make_shared<ArrayExamples>(Numbers(given["inputs"]), std::move(mask),
                                                   numbers_of(given, "attention"));
  return split;
}

std::vector<LayerHeads> layers_of(const py::dict& given, std::size_t count) {
  std::vector<LayerHeads> layers(count);
  const auto take = [&](const char* name, std::vector<MatrixXd> LayerHeads::*member) {
    const std::vector<Numbers> arrays = numbers_of(given, name);
    for (std::size_t l = 0; l < arrays.size(); ++l) {
      for (Index h = 0; h < arrays[l].extent(0); ++h) {
        (layers.at(l).*member).push_back(arrays[l].matrix(h));
      }
    }
  };
  take("weights", &LayerHeads::weights);
  take("query", &LayerHeads::query);
  take("key", &LayerHeads::key);
  if (given.contains("names")) {
    const auto names = given["names"].cast<std::vector<std::vector<std::string>>>();
    for (std::size_t l = 0; l < names.size(); ++l) layers.at(l).names = names[l];
  }
  return layers;
}

std::optional<LinearValueNetwork> network_of(const py::dict& given) {
  if (!given.contains("network")) return std::nullopt;
  const auto parts = py::reinterpret_borrow<py::dict>(given["network"]);
  LinearValueNetwork network;
  network.input = matrix_of(parts["input"]);
  network.readout = matrix_of(parts["readout"]);
  for (const Numbers& layer : numbers_of(parts, "values")) {
    std::vector<MatrixXd>& heads = network.values.emplace_back();
    for (Index h = 0; h < layer.extent(0); ++h) heads.push_back(layer.matrix(h));
  }
  return network;
}

AttentionForm form_of(const std::string& word) {
  if (word == "weights") return AttentionForm::kWeights;
  if (word == "query_key") return AttentionForm::kQueryKey;
  if (word == "supplied") return AttentionForm::kSupplied;
  return AttentionForm::kPathFeatures;
}

}  // namespace

MatrixXd matrix_of(const py::handle& value) {
  const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
  if (!array) throw py::error_already_set();
  if (array.ndim() == 0) return MatrixXd::Constant(1, 1, *array.data());
  if (array.ndim() != 2) throw py::value_error("a matrix has two dimensions");
  return Eigen::Map<const RowMatrixXd>(array.data(), array.shape(0), array.shape(1));
}

py::array array_of(const MatrixXd& matrix) {
  py::array_t<double> out({matrix.rows(), matrix.cols()});
  Eigen::Map<RowMatrixXd>(out.mutable_data(), matrix.rows(), matrix.cols()) = matrix;
  return out;
}

std::shared_ptr<tasks::Dataset> make_dataset(const py::dict& given) {
  auto dataset = std::make_shared<tasks::Dataset>();
  dataset->name = tasks::kArraysInMemory;
  dataset->form = form_of(given["form"].cast<std::string>());
  dataset->heads = given["heads"].cast<std::vector<int>>();
  dataset->features = given["features"].cast<Index>();
  dataset->layers = layers_of(given, dataset->heads.size());
  dataset->network = network_of(given);
  if (given.contains("readout")) {
    dataset->readout = parse_word<Readout>("readout", given["readout"].cast<std::string>());
  }
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(given["splits"])) {
    const auto name = key.cast<std::string>();
    tasks::Split split = split_of(py::reinterpret_borrow<py::dict>(value));
    if (name == "train") {
      dataset->train = std::move(split);
    } else if (name == "test") {
      dataset->test = std::move(split);
    } else {
      dataset->sets.push_back({name, std::move(split)});
    }
  }
  return dataset;
}

}  // namespace headway::python
