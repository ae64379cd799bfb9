#include "src/store/open_store.hpp"

#include "src/store/file_store.hpp"
#include "src/store/store_url.hpp"
#include "src/store/tcp_store.hpp"

namespace hocket {
namespace {

template <class Opened>
Result<std::unique_ptr<Store>> widen(Result<std::unique_ptr<Opened>> opened) {
  if (!opened) return opened.status();
  return std::unique_ptr<Store>(std::move(*opened));
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::string_view url, Deadline deadline, const std::stop_token& stop,
                                          const Trust& trust) {
  const auto place = store::parse_store_url(url);
  if (!place) return place.status();
  if (!place->path.empty()) return widen(FileStore::open(place->path, deadline));
  return widen(TcpStore::connect(place->host, place->port, deadline, stop, trust));
}

}  // namespace hocket
