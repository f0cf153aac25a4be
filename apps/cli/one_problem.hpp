#pragma once

#include "theory_course.hpp"

namespace headway::cli {

/// `headway solve` on several ranks: one problem at a time over all of them where the study asks
/// for that (solve.kernels = "distributed"), else run_shared().
int run_solve_on_ranks(const Options& options,
                       const Course<TheoryJob, headway::SolveResult>& course);

}  // namespace headway::cli
