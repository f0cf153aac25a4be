#include "tree.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace headway::python {
namespace {

template <class Number>
py::object typed_object(const FieldSink::Elements& elements) {
  const auto* values = static_cast<const Number*>(elements.values);
  if (elements.shape.empty()) return py::cast(*values);
  return py::array_t<Number>(elements.shape, values);  // a copy
}

/// A number, or an array of its own.
py::object object_of(const FieldSink::Elements& elements) {
  using Kind = FieldSink::NumberKind;
  switch (elements.kind) {
    case Kind::kFloat64:
      return typed_object<double>(elements);
    case Kind::kFloat32:
      return typed_object<float>(elements);
    case Kind::kInt64:
      return typed_object<std::int64_t>(elements);
    case Kind::kUint64:
      return typed_object<std::uint64_t>(elements);
    case Kind::kUint8:
      return typed_object<std::uint8_t>(elements);
  }
  return py::none();
}

py::str text_of(const std::string& text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

}  // namespace

py::dict Tree::group(const std::string& path) {
  const std::string place = path.empty() ? "/" : path;
  const auto known = nodes_.find(place);
  if (known != nodes_.end()) return py::reinterpret_borrow<py::dict>(known->second[1]);
  py::dict content;
  put(place, content);
  return content;
}

void Tree::put(const std::string& path, py::object content) {
  py::tuple node = py::make_tuple(py::dict(), std::move(content));
  if (path != "/") {
    const std::size_t slash = path.rfind('/');
    const bool top = slash == std::string::npos;
    const py::dict parent = group(top ? "/" : path.substr(0, slash));
    parent[text_of(top ? path : path.substr(slash + 1))] = node;
  }
  nodes_.emplace(path, std::move(node));
}

py::dict Tree::attributes(const std::string& object) {
  const std::string place = object.empty() ? "/" : object;
  if (nodes_.count(place) == 0) make_group(place);
  return py::reinterpret_borrow<py::dict>(nodes_.at(place)[0]);
}

void Tree::write_dataset(const std::string& path, const Elements& elements) {
  py::object value = object_of(elements);
  if (elements.shape.empty()) value = py::module_::import("numpy").attr("asarray")(value);
  put(path, std::move(value));
}

void Tree::write_attribute(const std::string& object, const std::string& name,
                           const Elements& elements) {
  attributes(object)[text_of(name)] = object_of(elements);
}

void Tree::write_strings(const std::string& path, const std::vector<std::string>& values) {
  py::list texts;
  for (const std::string& value : values) texts.append(text_of(value));
  put(path, std::move(texts));
}

void Tree::set(const std::string& object, const std::string& name, const std::string& value) {
  attributes(object)[text_of(name)] = text_of(value);
}

}  // namespace headway::python
