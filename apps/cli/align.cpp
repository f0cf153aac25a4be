#include "columns.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb align_verb() {
  return {
      .name = "align",
      .summary = "compare the eigenvectors of the kernel with the labels",
      .sections = {"align"},
      .own = {kPointOption},
      .about =
          "Shows how much of the labels lies along each eigenvector of the kernel that the theory "
          "has learned, and of the kernel of the Gaussian process. A network that has found the "
          "rule has the labels along a few leading eigenvectors. The order parameters of a result "
          "are used again where study and data are the same.",
      .tables = {{"Columns",
                  {kWidthsColumn,
                   kTemperatureColumn,
                   {"kernel",
                    "renormalised: of the theory at this width; GP: at infinite width, "
                    "once for each temperature"},
                   {"k = 1 ... 8",
                    "overlap |v_k . y| / |y| of eigenvector k with the labels, largest eigenvalue "
                    "first"},
                   {"sum of squares",
                    "of the overlaps shown: the share of the labels that lies along these "
                    "eigenvectors"}}}},
      .examples = {{"headway align hmm-four-paths", "a study: its points are solved first"},
                   {"headway align four.h5", "a result of solve, whose order parameters are used"}},
      .print = printed(&align_table)};
}

}  // namespace headway::cli
