#include "headway/core/labels.hpp"

#include <vector>

#include "catch.hpp"

using namespace headway;

TEST_CASE("whole numbers that are not all 1 or -1 look like numbers of classes, in rising order") {
  CHECK(class_numbers(VectorXd{{2.0, 0.0, 1.0, 2.0, -1.0}}) ==
        std::vector<double>{-1.0, 0.0, 1.0, 2.0});
  CHECK(class_numbers(VectorXd{{1.0, -1.0, 1.0}}).empty());
  CHECK(class_numbers(VectorXd{{0.0, 1.0, 1.5}}).empty());
  CHECK(class_numbers(MatrixXd{{0.0, 2.0}, {1.0, 0.0}}).empty());
}

TEST_CASE("at most twenty different labels look like numbers of classes") {
  CHECK(class_numbers(VectorXd::LinSpaced(20, 0.0, 19.0)).size() == 20);
  CHECK(class_numbers(VectorXd::LinSpaced(21, 0.0, 20.0)).empty());
}

TEST_CASE("two classes are named by 0 and 1 or by -1 and +1, where both occur") {
  CHECK(names_of_two_classes(VectorXd{{1.0, 0.0, 1.0}}) == "0 and 1");
  CHECK(names_of_two_classes(VectorXd{{1.0, -1.0, 1.0}}) == "-1 and +1");
  for (const VectorXd& labels : {VectorXd{{1.0, 1.0}}, VectorXd{{0.0, 0.0}}, VectorXd{{-1.0, -1.0}},
                                 VectorXd{{0.0, 1.0, -1.0}}, VectorXd{{0.0, 0.5}}, VectorXd()}) {
    CHECK(names_of_two_classes(labels).empty());
  }
  CHECK(names_of_two_classes(MatrixXd{{1.0, 0.0}, {0.0, 1.0}}).empty());
}

TEST_CASE("the right answer is the sign of one output, the first largest of several") {
  CHECK(right_answers(VectorXd{{0.5, -2.0, 0.0, 3.0}}, VectorXd{{1.0, -1.0, 1.0, -1.0}}) ==
        VectorXd{{1.0, 1.0, 0.0, 0.0}});
  CHECK(right_answers(MatrixXd{{0.2, 0.1}, {0.2, 0.3}, {0.5, 0.5}},
                      MatrixXd{{1.0, 0.0}, {1.0, 0.0}, {0.0, 1.0}}) == VectorXd{{1.0, 0.0, 0.0}});
}

TEST_CASE("classes are +-1 for one output, and rows with a single 1 for several") {
  CHECK(labels_are_classes(VectorXd{{1.0, -1.0, 1.0}}));
  CHECK_FALSE(labels_are_classes(VectorXd{{1.0, -1.0, 0.0}}));
  CHECK_FALSE(labels_are_classes(VectorXd{{1.0, 2.0}}));
  CHECK(labels_are_classes(MatrixXd{{1.0, 0.0}, {0.0, 1.0}}));
  CHECK_FALSE(labels_are_classes(MatrixXd{{1.0, 1.0}, {0.0, 1.0}}));
  CHECK_FALSE(labels_are_classes(MatrixXd{{1.0, 0.0}, {0.0, 0.0}}));
  CHECK_FALSE(labels_are_classes(MatrixXd{{0.5, 0.5}, {0.0, 1.0}}));
  CHECK_FALSE(labels_are_classes(MatrixXd{{2.0, -1.0}, {0.0, 1.0}}));
  CHECK_FALSE(names_classes(MatrixXd::Zero(3, 2)));
  CHECK(names_classes(MatrixXd{{0.0, 0.0}, {0.0, 1e-300}}));
}
