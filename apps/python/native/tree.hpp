#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headway/core/field_sink.hpp"

namespace headway::python {

namespace py = pybind11;

/// What a result file would hold, as Python's own objects: a node is a tuple of a dict of
/// attributes and its content, a dict of nodes for a group, an array or a list of texts else
/// (headway/base/memory.py reads them as h5py reads files). Python's lock is held throughout.
class Tree final : public FieldSink {
 public:
  using FieldSink::set;
  Tree() { make_group("/"); }

  void make_group(const std::string& path) override { group(path); }
  void set(const std::string& object, const std::string& name, const std::string& value) override;

  [[nodiscard]] py::tuple root() const { return nodes_.at("/"); }

 private:
  void write_texts(const std::string& path, const std::vector<std::string>& values,
                   std::string_view axes) override;
  void write_dataset(const std::string& path, const Elements& elements) override;
  void write_attribute(const std::string& object, const std::string& name,
                       const Elements& elements) override;
  py::dict group(const std::string& path);
  /// As an attribute, since there are no scales in memory.
  void name_axes(const std::string& path, std::string_view axes);
  py::dict attributes(const std::string& object);
  void put(const std::string& path, const py::object& content);

  std::unordered_map<std::string, py::tuple> nodes_;
};

}  // namespace headway::python
