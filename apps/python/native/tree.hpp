#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "headway/core/field_sink.hpp"

namespace headway::python {

namespace py = pybind11;

/// What a result file would hold, as Python's own objects: a node is a tuple of a dict of
/// attributes and its content, a dict of nodes for a group, an array or a list of texts else
/// (headway/memory.py reads them as h5py reads files). Python's lock is held throughout.
class Tree final : public FieldSink {
 public:
  using FieldSink::set;
  Tree() { make_group("/"); }

  void make_group(const std::string& path) override { group(path); }
  void write_strings(const std::string& path, const std::vector<std::string>& values) override;
  void set(const std::string& object, const std::string& name, const std::string& value) override;

  [[nodiscard]] py::tuple root() const { return nodes_.at("/"); }

 private:
  void write_dataset(const std::string& path, const Elements& elements) override;
  void write_attribute(const std::string& object, const std::string& name,
                       const Elements& elements) override;
  py::dict group(const std::string& path);
  py::dict attributes(const std::string& object);
  void put(const std::string& path, const py::object& content);

  std::unordered_map<std::string, py::tuple> nodes_;
};

}  // namespace headway::python
