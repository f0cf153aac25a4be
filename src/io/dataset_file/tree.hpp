#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/input.hpp"

namespace headway::io {

/// What may be a data set: a file, or arrays in memory. Paths are those of a file.
class DatasetTree {
 public:
  DatasetTree() = default;
  DatasetTree(const DatasetTree&) = delete;
  DatasetTree& operator=(const DatasetTree&) = delete;
  virtual ~DatasetTree() = default;

  [[nodiscard]] virtual bool in_memory() const = 0;
  /// By which name its maker knows what lies at a path: messages have it.
  [[nodiscard]] virtual std::string name_of(const std::string& path) const = 0;
  [[nodiscard]] virtual NodeKind kind(const std::string& path) const = 0;
  /// Names in a group, sorted; empty when it is not there.
  [[nodiscard]] virtual std::vector<std::string> members(const std::string& group) const = 0;
  [[nodiscard]] virtual ArrayInfo info(const std::string& path) const = 0;
  /// Why the array cannot be what it claims; "". `whole`: it will be held whole as doubles.
  [[nodiscard]] virtual std::string storage_fault(const ArrayInfo& info, bool whole) const = 0;
  [[nodiscard]] virtual std::vector<std::string> texts(const std::string& path) const = 0;
  [[nodiscard]] virtual std::optional<std::string> text_attribute(
      const std::string& object, const std::string& name) const = 0;
  [[nodiscard]] virtual std::optional<std::vector<double>> number_attribute(
      const std::string& object, const std::string& name) const = 0;
  /// As headway::io::for_each_block().
  using Visit = std::function<void(const ArrayInfo&, Index, Index, std::span<const double>)>;
  virtual void for_each_block(const std::string& path, const Visit& visit, Index part,
                              Index parts) const = 0;
};

/// That of an open file. Under an Hdf5Lock.
class FileTree final : public DatasetTree {
 public:
  explicit FileTree(const Hdf5InputFile& file) : file_(file) {}

  [[nodiscard]] bool in_memory() const override { return false; }
  [[nodiscard]] std::string name_of(const std::string& path) const override { return path; }
  [[nodiscard]] NodeKind kind(const std::string& path) const override { return file_.kind(path); }
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const override {
    return file_.members(group);
  }
  [[nodiscard]] ArrayInfo info(const std::string& path) const override { return file_.info(path); }
  [[nodiscard]] std::string storage_fault(const ArrayInfo& info, bool whole) const override {
    return implausible_storage(info, file_.file_bytes(), whole);
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& path) const override {
    return file_.read_strings(path);
  }
  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& object,
                                                          const std::string& name) const override {
    return file_.text_attribute(object, name);
  }
  [[nodiscard]] std::optional<std::vector<double>> number_attribute(
      const std::string& object, const std::string& name) const override {
    return file_.number_attribute(object, name);
  }
  void for_each_block(const std::string& path, const Visit& visit, Index part,
                      Index parts) const override {
    io::for_each_block(file_, path, visit, part, parts);
  }

 private:
  const Hdf5InputFile& file_;
};

}  // namespace headway::io
