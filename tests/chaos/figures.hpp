// How long detection and recovery took, by kind of fault and by transport.
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace hocket::chaos {

class Figures {
 public:
  void count(const std::string& fault, const std::string& links) { ++faults_[{fault, links}]; }
  int faults() const {
    int sum = 0;
    for (const auto& [kind, number] : faults_) sum += number;
    return sum;
  }
  // `what`: detection or recovery.
  void add(const std::string& fault, const std::string& links, const std::string& what, double milliseconds) {
    times_[{fault, links, what}].push_back(std::max(milliseconds, 0.0));
  }
  void print() {
    std::printf("\n%-24s %-5s %7s\n", "fault", "links", "faults");
    for (const auto& [kind, number] : faults_) {
      std::printf("%-24s %-5s %7d\n", kind.first.c_str(), kind.second.c_str(), number);
    }
    std::printf("%d faults in all. Milliseconds, each survivor counted:\n", faults());
    std::printf("%-24s %-5s %-9s %7s %9s %9s %9s\n", "fault", "links", "", "number", "p50", "p99", "worst");
    for (auto& [kind, values] : times_) {
      std::sort(values.begin(), values.end());
      const auto at = [&, &sorted = values](double part) {
        return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
      };
      std::printf("%-24s %-5s %-9s %7zu %9.2f %9.2f %9.2f\n", std::get<0>(kind).c_str(), std::get<1>(kind).c_str(),
                  std::get<2>(kind).c_str(), values.size(), at(0.5), at(0.99), values.back());
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, int> faults_;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> times_;
};

}  // namespace hocket::chaos
