#include "emulated_attention.hpp"

#include <stdexcept>

#include "emulator/emulated_device.hpp"

namespace headway::testing {
namespace {

template <typename T>
std::vector<T> rounded(const std::vector<float>& x) {
  std::vector<T> result;
  for (const float value : x) result.push_back(training::from_float<T>(value));
  return result;
}

/// A problem on the emulated device, its numbers stored as T.
template <emulated::Arithmetic kind, typename T>
class EmulatedLayer {
 public:
  EmulatedLayer(const AttentionProblem<float>& p, const EmulatedSettings& settings)
      : p_(p), settings_(settings), answer_(p) {
    const bool bias = !p.bias.empty() && settings.bias_gradient;
    const bool dropout = !p.dropout.empty() || settings.drawn.has_value();
    auto plan = training::plan_gpu_attention(p.shape, p.options, settings.arithmetic, bias, dropout,
                                             settings.device);
    if (!plan) throw std::runtime_error("no tile fits the emulated device");
    plan_ = *plan;
    if (settings.chunk_queries) {
      plan_.backward.chunk_queries = *settings.chunk_queries;
      plan_.over_keys +=
          p.shape.batch * p.shape.keys * p.shape.heads * (p.shape.query_dim + p.shape.value_dim);
    }
    const int before = plan_.backward.groups;
    plan_.backward.groups = std::min(before, settings.most_groups);
    plan_.bias_sums = plan_.bias_sums / before * plan_.backward.groups;
    plan_.mixing_sums = plan_.mixing_sums / before * plan_.backward.groups;
  }

  AttentionAnswer<float> run() {
    emulated::AttentionArguments<T> x = arguments();
    std::vector<T> output(p_.d_output.size());
    x.output = memory_.output("output", output);
    x.log_sum_exp = memory_.output("log_sum_exp", answer_.log_sum_exp);
    EmulatedDevice device = {settings_.runs};
    emulated::launch_forward<kind>(device, plan_, x);
    run_backward(device, x);
    copy(output, &answer_.output);
    return answer_;
  }

 private:
  using Rounded = std::vector<T>;

  emulated::AttentionArguments<T> arguments() {
    auto x = emulated::arguments_of<T>(p_.shape, p_.options);
    x.query = memory_.input("query", query_);
    x.key = memory_.input("key", key_);
    x.value = memory_.input("value", value_);
    x.bias = memory_.input("bias", p_.bias);
    x.key_mask = memory_.input("key_mask", p_.mask);
    x.mixing = memory_.input("mixing", p_.mixing);
    x.dropout.given = memory_.input("dropout", p_.dropout);
    if (settings_.drawn) {
      const auto& d = *settings_.drawn;
      index_ = {d.index};
      x.dropout = emulated::drawn_dropout(memory_.input("index", index_), d.seed, d.rate, d.columns,
                                          d.first_row, d.first_column);
    }
    return x;
  }

  void run_backward(EmulatedDevice& device, const emulated::AttentionArguments<T>& x) {
    const auto floats = [](Index count) {
      return std::vector<float>(static_cast<std::size_t>(count));
    };
    std::vector<float> query_sums = floats(plan_.query_sums);
    std::vector<float> bias_sums = floats(plan_.bias_sums);
    std::vector<float> mixing_sums = floats(plan_.mixing_sums);
    std::vector<float> over_keys = floats(plan_.over_keys);
    Rounded d_query(query_.size());
    Rounded d_key(key_.size());
    Rounded d_value(value_.size());
    emulated::GradientArguments<T> y = {};
    y.output = x.output;
    y.log_sum_exp = x.log_sum_exp;
    y.d_output = memory_.input("d_output", d_output_);
    y.over_keys = memory_.output("over_keys", over_keys);
    y.query_sums = memory_.output("query_sums", query_sums);
    y.bias_sums = memory_.output("bias_sums", bias_sums);
    y.mixing_sums = memory_.output("mixing_sums", mixing_sums);
    y.key = memory_.output("d_key", d_key);
    y.value = memory_.output("d_value", d_value);
    const int row = static_cast<int>(p_.shape.heads * p_.shape.query_dim);
    const int step = row + settings_.row_beyond.value_or(0);
    if (settings_.row_beyond) {
      query_sums.assign(
          query_.size() / static_cast<std::size_t>(row) * static_cast<std::size_t>(step), 7);
      y.query_sums = memory_.output("query_sums", query_sums);
      y.query_sum_steps = {step, step * p_.shape.queries};
    }
    emulated::launch_backward<kind>(
        device, plan_, x, y,
        emulated::SummedGradients<T>{
            settings_.row_beyond ? emulated::Global<T>{} : memory_.output("d_query", d_query),
            memory_.output("d_bias", answer_.d_bias),
            memory_.output("d_mixing", answer_.d_mixing)});
    for (std::size_t i = 0; settings_.row_beyond && i < d_query.size(); ++i) {
      const auto n = static_cast<std::size_t>(row);
      d_query[i] =
          training::from_float<T>(query_sums[i / n * static_cast<std::size_t>(step) + i % n]);
    }
    copy(d_query, &answer_.d_query);
    copy(d_key, &answer_.d_key);
    copy(d_value, &answer_.d_value);
  }

  static void copy(const Rounded& from, std::vector<float>* to) {
    std::transform(from.begin(), from.end(), to->begin(),
                   [](T x) { return training::to_float(x); });
  }

  const AttentionProblem<float>& p_;
  const EmulatedSettings settings_;
  AttentionAnswer<float> answer_;
  training::GpuAttentionPlan plan_;
  emulated::GlobalMemory memory_;
  std::vector<std::uint64_t> index_;
  const Rounded query_ = rounded<T>(p_.query);
  const Rounded key_ = rounded<T>(p_.key);
  const Rounded value_ = rounded<T>(p_.value);
  const Rounded d_output_ = rounded<T>(p_.d_output);
};

}  // namespace

AttentionAnswer<float> emulated_answer(const AttentionProblem<float>& p,
                                       const EmulatedSettings& settings) {
  return emulated::with_arithmetic(settings.arithmetic,
                                   [&]<emulated::Arithmetic kind, typename T>() {
                                     return EmulatedLayer<kind, T>(p, settings).run();
                                   });
}

}  // namespace headway::testing
