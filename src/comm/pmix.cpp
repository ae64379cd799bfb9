// PMIx, by which Open MPI and `srun --mpi=pmix` speak with their processes. The library is loaded when it is needed:
// it is there where such a launcher is.
#include "src/comm/key_space.hpp"

#if __has_include(<pmix.h>)
#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/signals_blocked.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;

constexpr auto pmix_farewell = 5s;  // the library itself waits two for the daemon
char pmix_key[] = "hocket-meeting-point";

// The functions of libpmix that are used here.
struct Library {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;

  Library() {
    void* const file = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);  // never closed: MPI may use it, too
    if (file == nullptr) return;
    const auto find = [file](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name));
      return function != nullptr;
    };
    usable = find(init, "PMIx_Init") && find(put, "PMIx_Put") && find(commit, "PMIx_Commit") &&
             find(fence, "PMIx_Fence") && find(get, "PMIx_Get") && find(finalize, "PMIx_Finalize") &&
             find(error_string, "PMIx_Error_string");
  }

  bool usable = false;
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

Status failure(std::string_view what, pmix_status_t status) {
  return {
      Code::store_unreachable,
      fmt::format("the launcher's PMIx does not work: {}: {}; set MASTER_ADDR, MASTER_PORT and HOCKET_SECRET instead",
                  what, library().error_string(status))};
}

Status publish(const std::string& words) {
  std::string copy = words;
  pmix_value_t value;
  std::memset(&value, 0, sizeof value);
  value.type = PMIX_STRING;
  value.data.string = copy.data();
  const pmix_status_t status = library().put(PMIX_GLOBAL, pmix_key, &value);
  return status == PMIX_SUCCESS ? Status() : failure("PMIx_Put", status);
}

// Waits for all processes of the launch. What they have put travels with it.
Status fence() {
  pmix_info_t collect;
  std::memset(&collect, 0, sizeof collect);
  std::strcpy(collect.key, PMIX_COLLECT_DATA);
  collect.value.type = PMIX_BOOL;
  collect.value.data.flag = true;
  const pmix_status_t status = library().fence(nullptr, 0, &collect, 1);
  return status == PMIX_SUCCESS ? Status() : failure("PMIx_Fence", status);
}

Result<std::string> get(pmix_proc_t rank_0) {
  rank_0.rank = 0;
  pmix_value_t* value = nullptr;
  const pmix_status_t status = library().get(&rank_0, pmix_key, nullptr, 0, &value);
  if (status != PMIX_SUCCESS) return failure("PMIx_Get", status);
  const bool is_text = value->type == PMIX_STRING;
  std::string words = is_text ? value->data.string : "";
  if (is_text) std::free(value->data.string);
  std::free(value);
  return words;
}

// No call of it takes a deadline.
Result<std::string> exchange(Rank rank, const std::string& words) {
  pmix_proc_t self;
  std::memset(&self, 0, sizeof self);
  const pmix_status_t begun = library().init(&self, nullptr, 0);
  if (begun != PMIX_SUCCESS) return failure("PMIx_Init", begun);
  if (rank == 0) {
    if (Status status = publish(words); !status.ok()) return status;
  }
  if (const pmix_status_t status = library().commit(); status != PMIX_SUCCESS) return failure("PMIx_Commit", status);
  if (Status met = fence(); !met.ok()) return met;
  return get(self);
}

// A call of the library on a thread that may outlive the wait for it: none takes a deadline, and a daemon that is dead
// or stopped may never answer.
template <typename Value>
class BackgroundCall {
 public:
  // Throws std::system_error where there is no thread left.
  template <typename Function>
  static std::shared_ptr<BackgroundCall> start(Function function) {
    auto call = std::make_shared<BackgroundCall>();
    const SignalsBlocked signals_blocked;
    std::thread([call, function = std::move(function)] {
      std::optional<Value> value;
      try {
        value = function();
      } catch (...) {  // memory has run out; then there is no value
      }
      const std::lock_guard lock(call->mutex_);
      call->value_ = std::move(value);
      call->ended_ = true;
      call->done_.notify_all();
    }).detach();
    return call;
  }

  // Whether it has returned by then.
  bool ends(Deadline deadline, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return done_.wait_until(lock, stop, deadline.at(), [this] { return ended_; });
  }
  // Once it has; nothing where memory ran out.
  const std::optional<Value>& value() const { return value_; }

 private:
  std::mutex mutex_;
  std::condition_variable_any done_;
  bool ended_ = false;
  std::optional<Value> value_;
};

using BackgroundExchange = BackgroundCall<Result<std::string>>;

// PMIx_Init after the last PMIx_Finalize fails, and MPI_Init may come any time. So leave is taken when the process
// exits; the launcher takes a process that does not do so for one that has failed. Where the exchange has not returned,
// its thread is inside the library still, and the library is left alone.
struct Farewell {
  const std::shared_ptr<BackgroundExchange> exchange;
  const pid_t owner = ::getpid();

  ~Farewell() {
    if (::getpid() != owner) return;  // a forked child
    try {
      if (!exchange->ends(Deadline::after({}), {})) return;
      (void)BackgroundCall<pmix_status_t>::start([] {
        return library().finalize(nullptr, 0);
      })->ends(Deadline::after(pmix_farewell), {});
    } catch (const std::exception&) {  // no thread: then the launcher counts the process as failed
    }
  }
};

}  // namespace

Status pmix_usable() {
  return library().usable ? Status() : Status(Code::unsupported, "the library libpmix.so.2 cannot be loaded");
}

Result<std::string> tell_all_by_pmix(Rank rank, const std::string& words, Deadline deadline,
                                     const std::stop_token& stop) {
  if (Status usable = pmix_usable(); !usable.ok()) return usable;
  std::shared_ptr<BackgroundExchange> call;
  try {
    call = BackgroundExchange::start([rank, words] { return exchange(rank, words); });
  } catch (const std::system_error& error) {
    return Status(Code::out_of_resources,
                  fmt::format("cannot start a thread for the launcher's PMIx: {}", error.what()));
  }
  static const Farewell at_exit{call};
  if (!call->ends(deadline, stop)) {
    return stop.stop_requested() ? Status(Code::aborted, "the creation was given up") : others_missing("fence (PMIx)");
  }
  if (!call->value()) return Status(Code::out_of_resources, "memory has run out while the launcher's PMIx was asked");
  return *call->value();
}

}  // namespace hocket::comm

#else

namespace hocket::comm {

Status pmix_usable() {
  return {Code::unsupported, "this build of Hocket was made without PMIx's header (libpmix-dev)"};
}

Result<std::string> tell_all_by_pmix(Rank, const std::string&, Deadline, const std::stop_token&) {
  return pmix_usable();
}

}  // namespace hocket::comm

#endif
