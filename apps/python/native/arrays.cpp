#include "arrays.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/words.hpp"
#include "headway/io/dataset_arrays.hpp"
#include "headway/study.hpp"

namespace headway::python {
namespace {

/// The numbers of an array where they lie, row-major. Whoever drops the last hold on the array need
/// not hold Python's lock.
class Numbers final : public tasks::ArraySource {
 public:
  explicit Numbers(const py::handle& value) {
    const auto array = py::reinterpret_borrow<py::array>(value);
    shape_.assign(array.shape(), array.shape() + array.ndim());
    // By numpy's own attribute: pybind11 before 2.12 looks where numpy 2 has something else.
    kind_ = array.attr("dtype").attr("kind").cast<char>();
    item_bytes_ = array.attr("itemsize").cast<std::size_t>();
    data_ = array.data();
    owner_ = std::shared_ptr<PyObject>(py::object(array).release().ptr(), [](PyObject* object) {
      const py::gil_scoped_acquire lock;
      Py_DECREF(object);
    });
  }

  [[nodiscard]] const std::vector<Index>& shape() const override { return shape_; }
  [[nodiscard]] Index extent(std::size_t axis) const { return shape_.at(axis); }

  /// Whether its numbers are integers or booleans.
  [[nodiscard]] bool integers() const { return kind_ != 'f'; }

  void read(Index begin, Index count, double* out) const override {
    Index row = 1;
    for (std::size_t axis = 1; axis < shape_.size(); ++axis) row *= shape_[axis];
    const auto copy = [&]<class T>(T) {
      std::copy_n(static_cast<const T*>(data_) + begin * row, count * row, out);
    };
    const bool with_sign = kind_ == 'i';
    switch (item_bytes_) {
      case 1:
        return with_sign ? copy(std::int8_t{}) : copy(std::uint8_t{});
      case 2:
        return with_sign ? copy(std::int16_t{}) : copy(std::uint16_t{});
      case 4:
        return kind_ == 'f' ? copy(float{})
               : with_sign  ? copy(std::int32_t{})
                            : copy(std::uint32_t{});
      default:
        return kind_ == 'f' ? copy(double{})
               : with_sign  ? copy(std::int64_t{})
                            : copy(std::uint64_t{});
    }
  }

  /// Matrix i of an array [n, rows, columns].
  [[nodiscard]] MatrixXd matrix(Index i) const {
    RowMatrixXd out(extent(1), extent(2));
    read(i, 1, out.data());
    return out;
  }

 private:
  std::shared_ptr<PyObject> owner_;
  const void* data_ = nullptr;
  std::vector<Index> shape_;
  char kind_ = 'f';  ///< numpy's: f, i, u, b
  std::size_t item_bytes_ = sizeof(double);
};

using NumbersHold = std::shared_ptr<const Numbers>;

/// An array for each layer; none if `given` has none of that name.
std::vector<NumbersHold> numbers_of(const py::dict& given, const char* name) {
  std::vector<NumbersHold> out;
  if (!given.contains(name)) return out;
  for (const py::handle value : py::reinterpret_borrow<py::list>(given[name])) {
    out.push_back(std::make_shared<Numbers>(value));
  }
  return out;
}

tasks::Split split_of(const py::dict& given) {
  tasks::Split split;
  const Numbers labels(given["labels"]);
  RowMatrixXd values(labels.extent(0), labels.extent(1));
  labels.read(0, values.rows(), values.data());
  split.labels = values;
  if (given.contains("ids")) split.ids = given["ids"].cast<std::vector<std::string>>();
  if (given.contains("path_features")) {
    split.feature_source = std::make_shared<Numbers>(given["path_features"]);
    return split;
  }
  std::vector<std::uint8_t> mask;
  if (given.contains("mask")) {
    const auto bytes = given["mask"].cast<py::array_t<std::uint8_t, py::array::c_style>>();
    mask.assign(bytes.data(), bytes.data() + bytes.size());
  }
  const std::vector<NumbersHold> attention = numbers_of(given, "attention");
  split.examples = std::make_shared<tasks::SourcedExamples>(
      std::make_shared<Numbers>(given["inputs"]), std::move(mask),
      std::vector<tasks::SourcedExamples::Source>(attention.begin(), attention.end()));
  return split;
}

std::vector<LayerHeads> layers_of(const py::dict& given, std::size_t count) {
  std::vector<LayerHeads> layers(count);
  const auto take = [&](const char* name, std::vector<MatrixXd> LayerHeads::*member) {
    const std::vector<NumbersHold> arrays = numbers_of(given, name);
    for (std::size_t l = 0; l < arrays.size(); ++l) {
      for (Index h = 0; h < arrays[l]->extent(0); ++h) {
        (layers.at(l).*member).push_back(arrays[l]->matrix(h));
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
  for (const NumbersHold& layer : numbers_of(parts, "values")) {
    std::vector<MatrixXd>& heads = network.values.emplace_back();
    for (Index h = 0; h < layer->extent(0); ++h) heads.push_back(layer->matrix(h));
  }
  return network;
}

constexpr std::array<std::pair<const char*, AttentionForm>, 4> kForms = {
    {{"weights", AttentionForm::kWeights},
     {"query_key", AttentionForm::kQueryKey},
     {"supplied", AttentionForm::kSupplied},
     {"path_features", AttentionForm::kPathFeatures}}};

AttentionForm form_of(const std::string& word) {
  for (const auto& [name, form] : kForms) {
    if (word == name) return form;
  }
  return AttentionForm::kPathFeatures;
}

const char* word_of_form(AttentionForm form) {
  for (const auto& [name, known] : kForms) {
    if (known == form) return name;
  }
  return "";
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

py::dict checked_arrays(const py::dict& given) {
  io::GivenArrays arrays;
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(given["arrays"])) {
    const auto path = key.cast<std::string>();
    if (value.is_none()) {
      arrays.empty_groups.insert(path);
    } else if (py::isinstance<py::list>(value)) {
      arrays.arrays[path] = {"string", nullptr, value.cast<std::vector<std::string>>()};
    } else {
      arrays.arrays[path] = {value.attr("dtype").attr("name").cast<std::string>(),
                             std::make_shared<Numbers>(value)};
    }
  }
  if (!given["heads"].is_none()) arrays.heads = given["heads"].cast<std::vector<double>>();
  arrays.readout = given["readout"].cast<std::optional<std::string>>();
  arrays.attention_rows = given["attention_rows"].cast<std::optional<std::string>>();
  arrays.name_of = [name_of = py::object(given["name_of"])](const std::string& path) {
    return name_of(path).cast<std::string>();
  };
  const io::CheckedArrays checked = io::check_arrays(arrays, given["learned"].cast<bool>());
  py::dict out;
  out["faults"] = checked.faults;
  out["heads"] = checked.heads;
  out["form"] = checked.form ? py::object(py::str(word_of_form(*checked.form))) : py::none();
  out["splits"] = checked.splits;
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
  dataset->any_rows = given.contains("any_rows");
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

std::shared_ptr<tasks::ExampleArrays> make_examples(const py::list& sets,
                                                    const std::string& content_hash) {
  auto out = std::make_shared<tasks::ExampleArrays>();
  out->name = tasks::kArraysInMemory;
  out->content_hash = content_hash;
  for (const auto& [name, arrays] : sets.cast<std::vector<std::pair<std::string, py::dict>>>()) {
    const auto array = [given = arrays](const char* key) {
      tasks::ExampleArray one;
      if (!given.contains(key)) return one;
      const auto [place, value] = given[key].cast<std::pair<std::string, py::object>>();
      const auto numbers = std::make_shared<Numbers>(value);
      one.place = place;
      one.integers = numbers->integers();
      one.numbers = numbers;
      return one;
    };
    tasks::ArraySet& set = out->sets.emplace_back();
    set = {name, array("tokens"), array("vectors"), array("targets"), array("loss_mask"), {}};
    constexpr std::string_view kFactors = "factors/";
    for (const auto& [key, value] : arrays) {
      const auto kind = key.cast<std::string>();
      if (!kind.starts_with(kFactors)) continue;
      set.factors.push_back({kind.substr(kFactors.size()), array(kind.c_str())});
    }
  }
  return out;
}

}  // namespace headway::python
