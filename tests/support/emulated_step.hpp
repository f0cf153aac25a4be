// The device of a hand-written training step, in the emulator: every launch is checked, and every
// array knows between launches what was written.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "training/kernels/cuda/emulator.hpp"
#include "training/kernels/cuda/step_ends.hpp"
#include "training/model/named_tensors.hpp"
#include "training/step/fused_step.hpp"

namespace headway::testing {

namespace emulated = training::emulated_kernels;

class EmulatedStepDevice final : public training::detail::StepDevice {
 public:
  explicit EmulatedStepDevice(const training::GpuDevice& sizes = {},
                              double free_bytes = std::numeric_limits<double>::infinity())
      : sizes_(sizes), free_bytes_(free_bytes) {}

  [[nodiscard]] training::GpuDevice sizes() const override { return sizes_; }
  [[nodiscard]] double free_bytes() const override { return free_bytes_; }
  // Launches may come from several threads, one after the other: they are counted here.
  void run(const training::detail::StepOperation& operation) override;
  void run_aside(const training::detail::StepOperation& operation) override {
    if (!keeps_aside_) return run(operation);
    kept_.push_back(&operation);
  }
  void join() override {
    for (const auto* operation : std::exchange(kept_, {})) run(*operation);
  }
  void adopt(const char* name, const void* data, Index count, std::size_t size) override {
    bytes_ += static_cast<double>(count) * static_cast<double>(size);
    add(name, const_cast<void*>(data), count, true);  // NOLINT: the device's kernels write to some
  }
  using LeftOut = emulated::LeftOut;
  /// From now on the library leaves that to a kernel, of products that have it.
  void leave_out(LeftOut what) { left_out_ = what; }
  /// From now on products are made by the kernel that stands in where a library lacks them.
  void take_products_from_library() { library_has_products_ = false; }
  /// From now on what runs aside waits until it is joined.
  void keep_aside() { keeps_aside_ = true; }
  void was_written(const void* data) override {
    for (emulated::Shadow& one : array_of(data).shadow) one.written = true;
  }
  /// Of all arrays.
  [[nodiscard]] double bytes() const { return bytes_; }
  /// Launches so far.
  [[nodiscard]] int launches() const { return launches_; }
  /// Arrays to some of whose numbers no launch has written, and how many those are.
  [[nodiscard]] std::vector<std::pair<std::string, Index>> unwritten() const {
    std::vector<std::pair<std::string, Index>> found;
    for (const auto& [data, array] : arrays_) {
      const auto count = std::count_if(array.shadow.begin(), array.shadow.end(),
                                       [](const emulated::Shadow& one) { return !one.written; });
      if (count > 0) found.emplace_back(array.name, count);
    }
    return found;
  }

 protected:
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    bytes_ += static_cast<double>(count) * static_cast<double>(size);
    memory_.emplace_back(static_cast<std::size_t>(count) * size);
    std::byte* data = memory_.back().data();
    if (numbers != nullptr) std::memcpy(data, numbers, memory_.back().size());
    add(name, data, count, numbers != nullptr);
    return data;
  }

 private:
  friend class EmulatedLaunches;
  emulated::Array& array_of(const void* pointer);
  void add(const char* name, void* data, Index count, bool written) {
    emulated::Shadow first;
    first.written = written;
    arrays_[static_cast<const std::byte*>(data)] = {
        name, data, count, false,
        std::vector<emulated::Shadow>(static_cast<std::size_t>(count), first)};
  }

  training::GpuDevice sizes_;
  bool library_has_products_ = true;
  LeftOut left_out_ = LeftOut::kNothing;
  bool keeps_aside_ = false;
  std::vector<const training::detail::StepOperation*> kept_;
  double free_bytes_;
  double bytes_ = 0.0;
  int launches_ = 0;
  emulated::Course course_;
  std::deque<std::vector<std::byte>> memory_;
  std::map<const std::byte*, emulated::Array> arrays_;
};

/// A step of a stack of runs on the emulator, with its arrays.
class EmulatedStep {
 public:
  /// `data`: what each run computes its gradient from.
  EmulatedStep(const training::detail::EngineSetup& setup,
               const std::vector<training::detail::StepData>& data,
               const training::detail::AdamWStep& constants = {},
               const training::GpuDevice& device = {})
      : setup_(setup),
        step_size_(static_cast<std::size_t>(training::detail::step_parameters(setup.shapes))),
        device_(device) {
    for (const training::detail::StepData& of_run : data) add(of_run);
    const std::size_t runs = data.size();
    for (auto* array : {&values_, &gradients_, &first_, &second_}) {
      array->assign(runs * step_size_, 0.0F);
    }
    numbers_.resize(4 * runs);
    loss_.resize(runs);
    history_.resize(2 * training::detail::kMostStepsAhead * runs);
    places_.resize(runs);
    training::detail::StepArrays a;
    const auto put = [](auto& numbers) { return numbers.empty() ? nullptr : numbers.data(); };
    a.inputs = put(batch_.inputs);
    a.ids = put(batch_.ids);
    a.mask = put(batch_.mask);
    a.targets = put(batch_.targets);
    a.classes = put(batch_.classes);
    a.dropout = put(dropout_);
    a.values = values_.data();
    a.gradients = gradients_.data();
    a.first = first_.data();
    a.second = second_.data();
    a.numbers = numbers_.data();
    a.loss = loss_.data();
    a.history = history_.data();
    const training::detail::StepBatchShape shape = {data[0].pieces[0].examples,
                                                    !batch_.mask.empty(), !dropout_.empty(),
                                                    static_cast<Index>(runs)};
    step_.emplace(setup_, shape, a, constants, &device_);
  }

  /// From the model's order to the step's.
  void write(const std::vector<float>& flat, std::vector<float>* to, std::size_t run = 0) const {
    for_parameters([&](std::size_t in_model, std::size_t in_step, std::size_t count) {
      std::copy_n(flat.data() + in_model, count, to->data() + run * step_size_ + in_step);
    });
  }
  [[nodiscard]] std::vector<float> read(const std::vector<float>& from, std::size_t run = 0) const {
    std::vector<float> flat(static_cast<std::size_t>(training::detail::total_count(setup_.shapes)));
    for_parameters([&](std::size_t in_model, std::size_t in_step, std::size_t count) {
      std::copy_n(from.data() + run * step_size_ + in_step, count, flat.data() + in_model);
    });
    return flat;
  }
  /// A whole step with an update of each run, or none. Its numbers go to the next place of the
  /// run's history.
  void run(const std::vector<std::optional<training::detail::AdamWStep>>& updates) {
    for (std::size_t r = 0; r < updates.size(); ++r) {
      const auto numbers = updates[r] ? training::detail::update_numbers(*updates[r], places_[r]++)
                                      : training::detail::kNoUpdate;
      std::copy(numbers.begin(), numbers.end(), numbers_.begin() + static_cast<Index>(4 * r));
    }
    step_->run_gradients();
    step_->run_update();
  }

  training::detail::EngineSetup setup_;
  training::TaskBatch batch_;  // those of all runs
  std::vector<float> dropout_, values_, gradients_, first_, second_, numbers_;
  std::vector<double> loss_, history_;
  std::size_t step_size_;  // parameters from a run to the next
  EmulatedStepDevice device_;
  std::optional<training::detail::FusedStep> step_;
  std::vector<Index> places_;

 private:
  void add(const training::detail::StepData& data) {
    const auto append = [](auto& all, const auto& some) {
      all.insert(all.end(), some.begin(), some.end());
    };
    const training::TaskBatch& batch = data.pieces[0];
    append(batch_.inputs, batch.inputs);
    append(batch_.ids, batch.ids);
    append(batch_.mask, batch.mask);
    append(batch_.targets, batch.targets);
    append(batch_.classes, batch.classes);
    append(dropout_, data.dropout);
  }
  template <typename Work>
  void for_parameters(const Work& work) const {
    const std::vector<Index> offsets = training::detail::step_offsets(setup_.shapes);
    std::size_t at = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto count = static_cast<std::size_t>(setup_.shapes[i].count());
      work(at, static_cast<std::size_t>(offsets[i]), count);
      at += count;
    }
  }
};

}  // namespace headway::testing
