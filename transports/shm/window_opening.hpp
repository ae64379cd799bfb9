// Opens a window: connects its members and takes their handshake through.
#pragma once

#include <memory>
#include <vector>

#include "src/spi/transport.hpp"
#include "src/spi/window_opening.hpp"
#include "transports/shm/shm_window.hpp"

namespace hocket::shm {

class ShmOpening final : public WindowOpening {
 public:
  // `links`: to the members that are to be connected before anything else, the neighbours on the ring among them.
  // `unfit`: why this member cannot take part; ok: it can.
  ShmOpening(std::unique_ptr<ShmWindow> window, std::vector<ShmLink*> links, Status unfit);

  Result<std::unique_ptr<Window>> advance() override;
  bool is_refused() const override { return refused_; }
  bool needs(Rank rank) const override;
  Missing missing() const override { return window_->handshake().missing(); }
  Status give_up(const Status& why) override { return window_->handshake().give_up(why); }

 private:
  bool all_connected() const;
  Status lost_member() const;
  Status go_on();

  std::unique_ptr<ShmWindow> window_;  // null: it has been given
  const std::vector<ShmLink*> links_;
  const Status unfit_;
  bool begun_ = false;  // all have been connected: who is through with the handshake may leave
  bool refused_ = false;
};

// Lets the transport make progress until the window is open, or a member fails or refuses, or the listener gives it up,
// or the deadline passes.
Result<std::unique_ptr<Window>> wait_for(WindowOpening& opening, Rank rank, Transport& transport,
                                         const TransportListener& listener, Deadline deadline);

}  // namespace hocket::shm
