#pragma once

#include <cublasLt.h>
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "training/kernels/cuda/launch.hpp"
#include "training/step/step_operations.hpp"

// The products of a step by cuBLASLt, of float32, TF32 or bf16 numbers; sums are float32. The
// library is not linked: it is the one that LibTorch has loaded, or one that is found by its name.
namespace headway::training::gpu_kernels {

/// The functions that are used, by their own names.
struct CublasFunctions {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) algo_check = nullptr;
};

/// Error{kUnavailable} where there is no such library.
inline const CublasFunctions& cublas_functions() {
  static const CublasFunctions functions = [] {
    void* library = nullptr;
    for (const int mode : {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY}) {
      for (const int version : {CUBLAS_VER_MAJOR, 13, 12, 11}) {
        if (library != nullptr) break;
        library = dlopen(("libcublasLt.so." + std::to_string(version)).c_str(), mode);
      }
    }
    if (library == nullptr) throw Error(ErrorKind::kUnavailable, "CUDA: no libcublasLt is found");
    CublasFunctions f;
    const auto find = [library](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      if (*function == nullptr) {
        throw Error(ErrorKind::kUnavailable, std::string("CUDA: libcublasLt lacks ") + name);
      }
    };
    find(&f.create, "cublasLtCreate");
    find(&f.destroy, "cublasLtDestroy");
    find(&f.matmul, "cublasLtMatmul");
    find(&f.desc_create, "cublasLtMatmulDescCreate");
    find(&f.desc_destroy, "cublasLtMatmulDescDestroy");
    find(&f.desc_set, "cublasLtMatmulDescSetAttribute");
    find(&f.layout_create, "cublasLtMatrixLayoutCreate");
    find(&f.layout_destroy, "cublasLtMatrixLayoutDestroy");
    find(&f.layout_set, "cublasLtMatrixLayoutSetAttribute");
    find(&f.preference_create, "cublasLtMatmulPreferenceCreate");
    find(&f.preference_destroy, "cublasLtMatmulPreferenceDestroy");
    find(&f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
    find(&f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
    find(&f.algo_check, "cublasLtMatmulAlgoCheck");
    return f;
  }();
  return functions;
}

inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(ErrorKind::kInternal,
                std::string("cuBLASLt: ") + what + ": status " + std::to_string(status));
  }
}

/// A product as cuBLASLt has it, where matrices are column-major: out^T = right^T left^T.
///
/// The library's kernel is chosen for one run and serves every stack. It sums in one go, not in
/// parts that depend on how many blocks there are. So a run has the same bits in any stack. All
/// runs are one batch, or one call each where the kernel does not take that.
class CublasPlan {
 public:
  CublasPlan(cublasLtHandle_t handle, const detail::StepProduct& p, std::size_t workspace)
      : f_(cublas_functions()), p_(p), has_bias_(!(p.bias == nullptr)) {
    const auto compute = p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(f_.desc_create(&desc_, compute, CUDA_R_32F), "description");
    const auto turned = [](bool yes) { return yes ? CUBLAS_OP_T : CUBLAS_OP_N; };
    set(CUBLASLT_MATMUL_DESC_TRANSA, turned(p.right_transposed));
    set(CUBLASLT_MATMUL_DESC_TRANSB, turned(p.left_transposed));
    set_end(p.end);
    lay_all(&one_, p.batch);
    choose(handle, workspace);
    if (found() && p.runs > 1) lay_runs(handle, workspace);
  }
  ~CublasPlan() {
    for (const Layouts& layouts : {one_, all_}) {
      for (cublasLtMatrixLayout_t layout : layouts) {
        if (layout != nullptr) f_.layout_destroy(layout);
      }
    }
    f_.desc_destroy(desc_);
  }
  CublasPlan(const CublasPlan&) = delete;
  CublasPlan& operator=(const CublasPlan&) = delete;

  /// False where cuBLASLt has no such product.
  [[nodiscard]] bool found() const { return found_ > 0; }

  void run(cublasLtHandle_t handle, void* workspace, std::size_t bytes, cudaStream_t stream) {
    const auto call = [&](const Layouts& on, Index run) {
      const auto at = [run](const auto& array) { return (array + run * array.step()).data(); };
      const float one = 1.0F;
      const float beta = adds() ? 1.0F : 0.0F;
      const void* added = adds() ? at(p_.added.data) : at(p_.out.data);
      check(f_.matmul(handle, desc_, &one, at(p_.right.data), on[kRight], at(p_.left.data),
                      on[kLeft], &beta, added, on[kAdded], at(p_.out.data), on[kOut], &chosen_.algo,
                      workspace, bytes, stream),
            "product");
    };
    if (p_.runs == 1 || together_) return call(p_.runs == 1 ? one_ : all_, 0);
    for (Index run = 0; run < p_.runs; ++run) {
      set_pointers(run);
      call(one_, run);
    }
  }

 private:
  enum { kRight, kLeft, kOut, kAdded, kMatrices };
  using Layouts = std::array<cublasLtMatrixLayout_t, kMatrices>;

  [[nodiscard]] bool adds() const { return !(p_.added.data == nullptr); }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(f_.desc_set(desc_, attribute, &value, sizeof value), "attribute");
  }

  void set_end(detail::ProductEnd end) {
    cublasLtEpilogue_t epilogue = has_bias_ ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    if (end == detail::ProductEnd::kGelu) {
      epilogue = has_bias_ ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    } else if (end == detail::ProductEnd::kGeluGradient) {
      epilogue = CUBLASLT_EPILOGUE_DGELU;
    }
    keeps_ = end != detail::ProductEnd::kNone;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set_pointers(0);
    // The same for every number of runs, so that the same kernel is chosen.
    if (has_bias_) {
      set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, static_cast<std::int64_t>(p_.bias.step()));
    }
    if (!keeps_) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(p_.columns));
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, static_cast<std::int64_t>(p_.kept.step()));
  }
  void set_pointers(Index run) {
    if (has_bias_) {
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, (p_.bias + run * p_.bias.step()).data());
    }
    if (keeps_) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, (p_.kept + run * p_.kept.step()).data());
    }
  }

  template <typename Matrix>
  void lay(cublasLtMatrixLayout_t* layout, Index rows, Index columns, const Matrix& x,
           Index batch) {
    const cudaDataType_t type = x.data.is_bf16() ? CUDA_R_16BF : CUDA_R_32F;
    check(f_.layout_create(layout, type, static_cast<std::uint64_t>(rows),
                           static_cast<std::uint64_t>(columns), x.row),
          "layout");
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t offset = p_.batch > 1 ? x.batch : x.data.step();
    check(f_.layout_set(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "batch");
    check(
        f_.layout_set(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset),
        "batch");
  }
  void lay_all(Layouts* to, Index batch) {
    const detail::StepProduct& p = p_;
    lay(&(*to)[kRight], p.right_transposed ? p.inner : p.columns,
        p.right_transposed ? p.columns : p.inner, p.right, batch);
    lay(&(*to)[kLeft], p.left_transposed ? p.rows : p.inner, p.left_transposed ? p.inner : p.rows,
        p.left, batch);
    lay(&(*to)[kOut], p.columns, p.rows, p.out, batch);
    if (adds()) {
      lay(&(*to)[kAdded], p.columns, p.rows, p.added, batch);
    } else {
      lay(&(*to)[kAdded], p.columns, p.rows, p.out, batch);
    }
  }

  // All runs as one batch, where their matrices lie evenly and the kernel takes it.
  void lay_runs(cublasLtHandle_t handle, std::size_t workspace) {
    const auto evenly = [this](const auto& x) {
      return x.data == nullptr || p_.batch == 1 || x.data.step() == p_.batch * x.batch;
    };
    if (!evenly(p_.right) || !evenly(p_.left) || !evenly(p_.out) || !evenly(p_.added)) return;
    lay_all(&all_, p_.batch * p_.runs);
    cublasLtMatmulHeuristicResult_t result = {};
    const cublasStatus_t status = f_.algo_check(handle, desc_, all_[kRight], all_[kLeft],
                                                all_[kAdded], all_[kOut], &chosen_.algo, &result);
    together_ = status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= workspace;
  }

  // Of the arrays of every run, and of every matrix of a batch: parameters lie end to end, so that
  // some arrays begin at any float.
  template <typename Matrix>
  [[nodiscard]] std::uint32_t alignment_of(const Matrix& x) const {
    const auto size = static_cast<std::uintptr_t>(x.data.bytes());
    std::uintptr_t all = reinterpret_cast<std::uintptr_t>(x.data.data()) |
                         static_cast<std::uintptr_t>(x.data.step()) * size;
    if (p_.batch > 1) all |= static_cast<std::uintptr_t>(x.batch) * size;
    auto bytes = static_cast<std::uint32_t>(size);
    while (bytes < 256 && all % (2 * bytes) == 0) bytes *= 2;
    return bytes;
  }

  void choose(cublasLtHandle_t handle, std::size_t workspace) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(f_.preference_create(&preference), "preference");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(f_.preference_set(preference, attribute, &value, sizeof value), "preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p_.right));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p_.left));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
           adds() ? alignment_of(p_.added) : alignment_of(p_.out));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p_.out));
    const cublasStatus_t status =
        f_.heuristic(handle, desc_, one_[kRight], one_[kLeft], one_[kAdded], one_[kOut], preference,
                     1, &chosen_, &found_);
    f_.preference_destroy(preference);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) found_ = 0;
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "choice of a kernel");
  }

  const CublasFunctions& f_;
  detail::StepProduct p_;
  bool has_bias_;
  bool keeps_ = false;
  bool together_ = false;
  cublasLtMatmulDesc_t desc_ = nullptr;
  Layouts one_ = {}, all_ = {};
  cublasLtMatmulHeuristicResult_t chosen_ = {};
  int found_ = 0;
};

}  // namespace headway::training::gpu_kernels
