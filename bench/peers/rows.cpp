#include "bench/peers/rows.hpp"

#include <algorithm>
#include <cmath>

#include "bench/peers/semantics.hpp"

namespace peers {

double Row::percentile(double fraction) const {
  const auto nearest = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(times.size())));
  return times[std::max<std::size_t>(nearest, 1) - 1];
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

void write_row(std::FILE* file, const Peer& peer, const Options& options, const Row& row, bool first) {
  const double algbw = static_cast<double>(row.bytes) / row.percentile(0.5) / 1e3;
  std::fprintf(file, "%s\n  {\"collective\":%s,\"ranks\":%d,\"transport\":%s,\"algorithm\":%s,\"dtype\":\"float32\",",
               first ? "" : ",", quoted(options.collective_name).c_str(), peer.size(),
               quoted(options.transport).c_str(), quoted(row.algorithm).c_str());
  std::fprintf(file, "\"op\":\"sum\",\"root\":0,\"bytes\":%zu,\"count\":%zu,\"placement\":\"%s\",\"memory\":\"plain\",",
               row.bytes, row.count, options.in_place ? "in_place" : "out_of_place");
  std::fprintf(file, "\"fresh\":%s,\"iterations\":%zu,\"time_us\":{\"min\":%.3f,\"p50\":%.3f,\"p90\":%.3f,",
               options.fresh ? "true" : "false", row.iterations, row.times.front(), row.percentile(0.5),
               row.percentile(0.9));
  std::fprintf(
      file, "\"p99\":%.3f,\"max\":%.3f,\"mean\":%.3f},\"algbw_GBps\":%.4f,\"busbw_GBps\":%.4f,\"cpu_us_per_op\":%.3f,",
      row.percentile(0.99), row.times.back(), row.mean, algbw, algbw * bus_factor(options.collective, peer.size()),
      row.cpu_us_per_op);
  // Steps are not known here; bytes are those of the loopback interface, headers and acknowledgements among them.
  std::fprintf(file, "\"steps_per_rank\":null,\"bytes_sent_per_rank\":%.0f,\"wrong\":%zu}", row.bytes_sent_per_rank,
               row.wrong);
  std::fflush(file);  // what there is counts even if a later size takes too long
}

}  // namespace peers
