#include "src/store/open_store.hpp"

#include "src/store/file_store.hpp"
#ifdef HOCKET_REDIS
#include "src/store/redis_store.hpp"
#endif
#include "src/store/store_url.hpp"
#include "src/store/tcp_store.hpp"

namespace hocket {
namespace {

template <class Opened>
Result<std::unique_ptr<Store>> widen(Result<std::unique_ptr<Opened>> opened) {
  if (!opened) return opened.status();
  return std::unique_ptr<Store>(std::move(*opened));
}

#ifdef HOCKET_REDIS
Result<std::unique_ptr<Store>> open_redis(const store::StoreUrl& url, Deadline deadline, const std::stop_token& stop) {
  return widen(RedisStore::connect({.host = url.host, .port = url.port, .access = *url.redis}, deadline, stop));
}
#else
Result<std::unique_ptr<Store>> open_redis(const store::StoreUrl&, Deadline, const std::stop_token&) {
  return Status(Code::unsupported,
                "this build of Hocket knows no Redis: install libhiredis-dev and build it again, or use another store");
}
#endif

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::string_view url, Deadline deadline, const std::stop_token& stop,
                                          const Trust& trust) {
  const auto place = store::parse_store_url(url);
  if (!place) return place.status();
  if (place->redis) return open_redis(*place, deadline, stop);
  if (!place->path.empty()) return widen(FileStore::open(place->path, deadline, stop));
  return widen(TcpStore::connect(place->host, place->port, deadline, stop, trust));
}

}  // namespace hocket
