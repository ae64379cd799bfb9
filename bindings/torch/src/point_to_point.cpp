// Send and receive, from the arguments of torch to a work.
#include "bindings/torch/src/collectives.hpp"

namespace hocket_torch {
namespace {

using c10d::OpType;

void check_tag(const char* call, int tag) {
  if (tag < 0) refuse(call, "the tag must be nonnegative, not " + std::to_string(tag));
}

void check_peer(const char* call, const char* kind, const Group& group, int peer) {
  if (peer != group.rank() && peer >= 0 && peer < group.size()) return;
  refuse(call, std::string("invalid ") + kind + " rank: " + std::to_string(peer));
}

void* handle_of(const std::shared_ptr<SideStream>& side) {
  return side ? side->handle() : nullptr;
}

Handle start_receive(Group& group, const char* title, OpType type, Tensors& tensors, int from, int tag) {
  check_tag("recv", tag);
  std::function<void()> back;
  const at::Tensor data = packed(only("recv", tensors), back);
  auto side = group.side_streams().for_call(data);
  Started started{.request = group.messages().receive(data, from, tag, handle_of(side)),
                  .inputs = tensors,
                  .kept = {data},
                  .finish = std::move(back),
                  .outputs = tensors,
                  .timeout = group.timeout(),
                  .side = std::move(side)};
  return group.coalescing().work(type, title, std::move(started));
}

}  // namespace

Handle send(Group& group, Tensors& tensors, int to, int tag) {
  const at::Tensor data = packed(only("send", tensors));
  check_tag("send", tag);
  check_peer("send", "destination", group, to);
  auto side = group.side_streams().for_call(data);
  Started started{.request = group.messages().send(data, to, tag, handle_of(side)),
                  .inputs = tensors,
                  .kept = {data},
                  .outputs = tensors,
                  .side = std::move(side)};
  return group.coalescing().work(OpType::SEND, "hocket:send", std::move(started));
}

Handle receive(Group& group, Tensors& tensors, int from, int tag) {
  check_peer("recv", "source", group, from);
  return start_receive(group, "hocket:recv", OpType::RECV, tensors, from, tag);
}

Handle receive_from_anybody(Group& group, Tensors& tensors, int tag) {
  if (group.size() == 1) refuse("recvAnysource", "there is no other rank");
  return start_receive(group, "hocket:recvAnySource", OpType::RECVANYSOURCE, tensors, from_anybody, tag);
}

}  // namespace hocket_torch
