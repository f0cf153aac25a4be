#include "headway/tasks/image_set.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "image_sets.hpp"
#include "tasks/drawing_collection.hpp"

using headway::Error;
using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using headway::testing::random_image_set;
using namespace headway::tasks;

namespace {

using Pixels = std::vector<std::uint8_t>;

Pixels random_pixels(std::size_t count) {
  Pixels pixels(count);
  Rng rng(5, StreamPurpose::kTests, count);
  for (std::uint8_t& x : pixels) x = static_cast<std::uint8_t>(rng.uniform_index(256));
  return pixels;
}

ImageSet tiny_set(const std::string& name,
                  const std::vector<std::pair<std::string, Pixels>>& classes) {
  ImageSet set;
  set.name = name;
  set.side = 1;
  for (const auto& [class_name, pixels] : classes) add_class(set, "alphabet", class_name, pixels);
  return set;
}

}  // namespace

TEST_CASE("An image of the wanted size stays as it is") {
  const Pixels image = random_pixels(32 * 32);
  CHECK(resize_grey(image, 32, 32, 32) == image);
}

TEST_CASE("A blank image stays blank at every size") {
  for (const Index source : {1, 5, 28, 105, 333}) {
    const Pixels image(static_cast<std::size_t>(source * source), 255);
    CHECK(resize_grey(image, source, source, 32) == Pixels(32 * 32, 255));
  }
}

TEST_CASE("Scaling weighs the source by triangles cut at the borders") {
  // Four pixels to two: centres 1 and 3, half-width 2. The first takes 3/4, 3/4, 1/4 of the first
  // three pixels, divided by their sum; in two dimensions the product of both axes.
  const Pixels line = {0, 70, 210, 35};
  Pixels image;
  for (int row = 0; row < 4; ++row) image.insert(image.end(), line.begin(), line.end());
  const int first = 60;    // (3 * 0 + 3 * 70 + 210) / 7
  const int second = 115;  // (70 + 3 * 210 + 3 * 35) / 7
  CHECK(resize_grey(image, 4, 4, 2) == Pixels{first, second, first, second});
  // Two to four, half-width 1: 1, 3/4, 1/4 and 0 of the first pixel.
  CHECK(resize_grey(Pixels{200, 100, 200, 100}, 2, 2, 4) ==
        Pixels{200, 175, 125, 100, 200, 175, 125, 100, 200, 175, 125, 100, 200, 175, 125, 100});
}

TEST_CASE("Scaling keeps up and down, left and right apart") {
  Pixels image(6 * 6, 255);
  image[1 * 6 + 4] = 0;  // row 1, column 4
  const Pixels scaled = resize_grey(image, 6, 6, 3);
  const auto darkest = std::min_element(scaled.begin(), scaled.end()) - scaled.begin();
  CHECK(darkest == 0 * 3 + 2);
}

TEST_CASE("Scaling refuses pixels that are not an image") {
  CHECK_THROWS_WITH(resize_grey(Pixels(5), 2, 3, 32),
                    "resize_grey: 5 pixels of an image of 2 x 3 to 32 x 32");
  CHECK_THROWS_AS(resize_grey(Pixels(), 0, 0, 32), Error);
  CHECK_THROWS_AS(resize_grey(Pixels(), 0, 3, 32), Error);
  CHECK_THROWS_AS(resize_grey(Pixels(6), 2, 3, 0), Error);
  CHECK(resize_grey(Pixels(6, 9), 2, 3, 1) == Pixels{9});
}

TEST_CASE("Classes stand one after the other") {
  const auto set = random_image_set(5);
  REQUIRE(set->classes.size() == 5);
  Index next = 0;
  for (const ImageClass& c : set->classes) {
    CHECK(c.first == next);
    next += c.count;
  }
  CHECK(set->drawings() == next);
  CHECK(next == 3 + 4 + 5 + 3 + 4);
  CHECK(set->drawing(3).data() == set->pixels.data() + 3 * 32 * 32);
  ImageSet broken;
  broken.side = 2;
  CHECK_THROWS_WITH(add_class(broken, "Latin", "a", Pixels(7)),
                    "image set: class Latin a has 7 pixels: must be one or more images of 2 x 2");
  CHECK_THROWS_AS(add_class(broken, "", "a", Pixels()), Error);
}

TEST_CASE("The hash tells sets apart by everything but their name") {
  const ImageSet base = tiny_set("one", {{"a", {1, 2}}, {"b", {3}}});
  CHECK(image_set_hash(base) == image_set_hash(tiny_set("two", {{"a", {1, 2}}, {"b", {3}}})));
  CHECK(image_set_hash(base) != image_set_hash(tiny_set("one", {{"a", {1}}, {"b", {2, 3}}})));
  CHECK(image_set_hash(base) != image_set_hash(tiny_set("one", {{"a", {1, 2}}, {"c", {3}}})));
  CHECK(image_set_hash(base) != image_set_hash(tiny_set("one", {{"a", {1, 2}}, {"b", {4}}})));
}

TEST_CASE("A class of two sets is kept once, and must be the same in both") {
  const std::vector<ImageSet> sets = {tiny_set("one", {{"a", {1, 2}}, {"b", {3}}}),
                                      tiny_set("two", {{"c", {4}}, {"a", {1, 2}}})};
  const ImageSet merged = merge_image_sets(sets);
  CHECK(merged.pixels == Pixels{1, 2, 3, 4});
  REQUIRE(merged.classes.size() == 3);
  CHECK(merged.classes[2] == ImageClass{"alphabet", "c", 3, 1});
  CHECK(merged.name == "one, two");

  const std::vector<ImageSet> unlike = {sets[0], tiny_set("three", {{"a", {1, 9}}})};
  const std::string same = ", with other drawings: must have the same drawings in all sets";
  CHECK_THROWS_WITH(merge_image_sets(unlike), "three: class alphabet/a is also in one" + same);
  const std::vector<ImageSet> third = {sets[0], sets[1], unlike[1]};
  CHECK_THROWS_WITH(merge_image_sets(third), "three: class alphabet/a is also in one, two" + same);
  const std::vector<ImageSet> sizes = {sets[0], *random_image_set(2)};
  CHECK_THROWS_WITH(merge_image_sets(sizes),
                    "random images: images are 32 x 32, but those of one are 1 x 1");
  CHECK(merge_image_sets(std::vector<ImageSet>{}).classes.empty());
}

TEST_CASE("collected drawings come in the order of their names, each once") {
  DrawingCollection collection("set.zip", 2);
  const Pixels first = {1, 2, 3, 4}, second = {5, 6, 7, 8}, third = {9, 10, 11, 12};
  CHECK_THROWS_WITH(collection.finish(),
                    "set.zip: holds no drawings: must have files "
                    "<alphabet>/<character>/<drawing>.png");
  collection.add({"Latin", "b", "1"}, third, 2, 2);
  collection.add({"Latin", "a", "2"}, second, 2, 2);
  collection.add({"Latin", "a", "1"}, first, 2, 2);
  CHECK_THROWS_WITH(collection.add({"Latin", "a", "1"}, first, 2, 2),
                    "set.zip: Latin/a/1 is there twice; allowed: each drawing once");
  CHECK_THROWS_WITH(collection.add({"Latin", "a", "3"}, Pixels(2), 1, 2),
                    "set.zip: Latin/a/3: is 2 x 1 pixels: must be square");
  const ImageSet set = collection.finish();
  CHECK(set.name == "set.zip");
  CHECK(set.classes.size() == 2);
  CHECK(set.pixels == Pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}
