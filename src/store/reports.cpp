#include "src/store/reports.hpp"

#include <fmt/format.h>

#include "src/base/hash.hpp"

namespace hocket::store {
namespace {

// A name may hold anything, also what separates the parts of a key.
std::string part_of(std::string_view job) {
  return fmt::format("{:016x}/", Hash().add(job).value());
}

}  // namespace

std::string ReportKeys::prefix_of(std::string_view job) {
  return std::string(report_prefix) + part_of(job);
}

std::string ReportKeys::key(std::string_view kind) const {
  return fmt::format("hocket/{}/{}{:016x}/{}", kind, part_of(job), group, rank);
}

std::string ReportKeys::report() const {
  return key("report");
}

std::string ReportKeys::question() const {
  return key("question");
}

std::string ReportKeys::record(std::string_view word) const {
  return fmt::format("{}/{}", key("record"), word);
}

}  // namespace hocket::store
