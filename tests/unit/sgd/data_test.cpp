// The files and digits that hocket-sgd learns from.
#include "tools/sgd/data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <set>

#include "tests/process/program.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/training.hpp"

namespace hocket::sgd {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string word(std::uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes.push_back(static_cast<char>(value >> shift & 0xffU));
  return bytes;
}

// Two pictures of 2 rows and 3 columns, a 7 and a 0.
std::string pictures() {
  return word(0x803) + word(2) + word(2) + word(3) + std::string("\1\2\3\4\5\6\7\10\11\12\13\xff", 12);
}
std::string labels() {
  return word(0x801) + word(2) + std::string("\7\0", 2);
}

class SgdData : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }
  std::string write_gzipped(const std::string& name, const std::string& bytes) const {
    const gzFile file = gzopen(folder_.file(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return folder_.file(name);
  }
  // What reading two files of these contents is answered with; "" where it succeeds.
  std::string problem_of(const std::string& with_pictures, const std::string& with_labels) const {
    try {
      (void)read_idx(write("pictures", with_pictures), write("labels", with_labels));
      return "";
    } catch (const Problem& problem) {
      return problem.what();
    }
  }

  TemporaryFolder folder_;
};

void expect_the_two_pictures(const Dataset& data) {
  EXPECT_EQ(data.rows, 2u);
  EXPECT_EQ(data.columns, 3u);
  EXPECT_THAT(data.labels, ElementsAre(7, 0));
  EXPECT_THAT(std::vector(data.picture(0).begin(), data.picture(0).end()), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(std::vector(data.picture(1).begin(), data.picture(1).end()), ElementsAre(7, 8, 9, 10, 11, 255));
}

TEST_F(SgdData, ReadsPlainAndGzippedFiles) {
  expect_the_two_pictures(read_idx(write("p", pictures()), write("l", labels())));
  expect_the_two_pictures(read_idx(write_gzipped("p.gz", pictures()), write_gzipped("l.gz", labels())));
}

TEST_F(SgdData, FindsMnistsFilesInAFolder) {
  write_gzipped("train-images-idx3-ubyte.gz", pictures());
  write("train-labels-idx1-ubyte", labels());
  expect_the_two_pictures(read_mnist(folder_.path().string(), Part::training));
  EXPECT_THROW(read_mnist(folder_.path().string(), Part::test), Problem);
}

TEST_F(SgdData, NamesAFileThatIsMissing) {
  try {
    (void)read_idx(folder_.file("nothing"), write("labels", labels()));
    FAIL() << "read a file that is not there";
  } catch (const Problem& problem) {
    EXPECT_THAT(problem.what(), AllOf(HasSubstr(folder_.file("nothing")), HasSubstr("No such file")));
  }
  EXPECT_THROW(read_idx(folder_.path().string(), write("labels", labels())), Problem);
}

TEST_F(SgdData, EveryCutFileIsAnError) {
  for (std::size_t length = 0; length < pictures().size(); ++length) {
    EXPECT_THAT(problem_of(pictures().substr(0, length), labels()), HasSubstr(folder_.file("pictures"))) << length;
  }
  for (std::size_t length = 0; length < labels().size(); ++length) {
    EXPECT_THAT(problem_of(pictures(), labels().substr(0, length)), HasSubstr(folder_.file("labels"))) << length;
  }
}

TEST_F(SgdData, EveryCutOrDamagedGzippedFileIsAnError) {
  const std::string whole = contents(write_gzipped("p.gz", pictures()));
  for (std::size_t length = 1; length < whole.size(); ++length) {
    EXPECT_NE(problem_of(whole.substr(0, length), labels()), "") << length;
  }
  std::string damaged = whole;
  damaged[whole.size() - 6] = static_cast<char>(damaged[whole.size() - 6] ^ 1);  // in the checksum
  EXPECT_THAT(problem_of(damaged, labels()), HasSubstr("damaged"));
}

TEST_F(SgdData, NothingButAGzipMemberMayFollowAnother) {
  const std::string header = contents(write_gzipped("first.gz", pictures().substr(0, 16)));
  const std::string values = contents(write_gzipped("second.gz", pictures().substr(16)));
  EXPECT_EQ(problem_of(header + values, labels()), "");
  for (const std::string& rest : {std::string("x"), std::string(100, '\0'), values.substr(0, 5), pictures()}) {
    const std::string problem = problem_of(header + values + rest, labels());
    EXPECT_THAT(problem, HasSubstr("cannot be unpacked"));
    EXPECT_EQ(problem.find(folder_.file("pictures")), problem.rfind(folder_.file("pictures"))) << problem;
  }
}

TEST_F(SgdData, WrongHeadersAndLabelsAreErrors) {
  EXPECT_THAT(problem_of(labels(), labels()), HasSubstr("first four bytes"));
  EXPECT_THAT(problem_of(pictures() + "x", labels()), HasSubstr("12 values, but 13"));
  EXPECT_THAT(problem_of(word(0x803) + word(2) + word(0) + word(3), labels()), HasSubstr("0 pixels"));
  const std::string huge = word(0x803) + word(0xffffffff) + word(1024) + word(1024);
  EXPECT_THAT(problem_of(huge, labels()), HasSubstr("its header promises more than 1073741824 values, but 0 follow"));
  EXPECT_THAT(problem_of(pictures(), word(0x801) + word(1) + "\1"), HasSubstr("do not belong together"));
  EXPECT_THAT(problem_of(pictures(), word(0x801) + word(2) + "\1\12"),
              AllOf(HasSubstr("picture 1 is 10"), HasSubstr("0 to 9")));
  EXPECT_THAT(problem_of(word(0x803) + word(0) + word(2) + word(3), word(0x801) + word(0)), HasSubstr("no pictures"));
  EXPECT_EQ(problem_of(pictures(), labels()), "");
}

TEST_F(SgdData, TestPicturesHaveTheShapeOfTheTrainingPictures) {
  write("train-images-idx3-ubyte", pictures());
  write("train-labels-idx1-ubyte", labels());
  write("t10k-labels-idx1-ubyte", labels());
  const std::string turned = word(0x803) + word(2) + word(3) + word(2) + pictures().substr(16);
  std::vector<Communicator> alone = Communicator::create_local(1);
  Options options;
  options.training.folder = folder_.path().string();
  write("t10k-images-idx3-ubyte", pictures());
  EXPECT_EQ(load(options, alone.front()).test.size(), 2u);
  write("t10k-images-idx3-ubyte", turned);
  try {
    (void)load(options, alone.front());
    FAIL() << "took pictures of another shape";
  } catch (const Problem& problem) {
    EXPECT_THAT(problem.what(), AllOf(HasSubstr("2 × 3 pixels"), HasSubstr("3 × 2")));
  }
}

TEST(SgdDrawing, DrawsTheSameDigitsForTheSameSeed) {
  const Dataset digits = draw_digits(300, 5), again = draw_digits(300, 5), others = draw_digits(300, 6);
  EXPECT_EQ(digits.pixels, again.pixels);
  EXPECT_EQ(digits.labels, again.labels);
  EXPECT_EQ(fingerprint(digits), fingerprint(again));
  EXPECT_NE(fingerprint(digits), fingerprint(others));
  EXPECT_EQ(std::set(digits.labels.begin(), digits.labels.end()).size(), classes);
}

TEST(SgdDrawing, EveryPictureHasInkAndBackground) {
  const Dataset digits = draw_digits(300, 7);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto picture = digits.picture(i);
    const auto ink = std::ranges::count_if(picture, [](std::uint8_t pixel) { return pixel > 128; });
    EXPECT_GT(ink, 15) << i;
    EXPECT_LT(ink, 300) << i;
  }
}

}  // namespace
}  // namespace hocket::sgd
