#include "tree.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace headway::python {
namespace {

/// What `make` makes of the numbers.
template <class Make>
py::object of_numbers(const FieldSink::Elements& elements, const Make& make) {
  using Kind = FieldSink::NumberKind;
  switch (elements.kind) {
    case Kind::kFloat64:
      return make(static_cast<const double*>(elements.values));
    case Kind::kFloat32:
      return make(static_cast<const float*>(elements.values));
    case Kind::kInt64:
      return make(static_cast<const std::int64_t*>(elements.values));
    case Kind::kUint64:
      return make(static_cast<const std::uint64_t*>(elements.values));
    case Kind::kUint8:
      return make(static_cast<const std::uint8_t*>(elements.values));
  }
  return py::none();
}

/// An array of its own.
py::object array_of(const FieldSink::Elements& elements) {
  return of_numbers(elements, [&]<class Number>(const Number* values) -> py::object {
    return py::array_t<Number>(elements.shape, values);  // a copy
  });
}

/// A number, or an array of its own.
py::object value_of(const FieldSink::Elements& elements) {
  if (!elements.shape.empty()) return array_of(elements);
  return of_numbers(elements, [](const auto* number) { return py::cast(*number); });
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

void Tree::put(const std::string& path, const py::object& content) {
  py::tuple node = py::make_tuple(py::dict(), content);
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

void Tree::name_axes(const std::string& path, std::string_view axes) {
  if (!axes.empty()) attributes(path)[py::str("axes")] = py::str(std::string(axes));
}

void Tree::write_dataset(const std::string& path, const Elements& elements) {
  put(path, array_of(elements));
  name_axes(path, elements.axes);
}

void Tree::write_attribute(const std::string& object, const std::string& name,
                           const Elements& elements) {
  attributes(object)[text_of(name)] = value_of(elements);
}

void Tree::write_texts(const std::string& path, const std::vector<std::string>& values,
                       std::string_view axes) {
  py::list texts;
  for (const std::string& value : values) texts.append(text_of(value));
  put(path, texts);
  name_axes(path, axes);
}

void Tree::set(const std::string& object, const std::string& name, const std::string& value) {
  attributes(object)[text_of(name)] = text_of(value);
}

}  // namespace headway::python
