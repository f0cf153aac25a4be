#define HEADWAY_KERNELS baseline_row_kernels_set
#define HEADWAY_LANES 4
#include "training/kernels/cpu/row_kernel_set.hpp"

namespace headway::training::detail {

const RowKernels& baseline_row_kernels() {
  static const RowKernels kernels = baseline_row_kernels_set::row_kernel_set("baseline");
  return kernels;
}

}  // namespace headway::training::detail
