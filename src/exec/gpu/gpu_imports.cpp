#include "src/exec/gpu/gpu_imports.hpp"

#include <algorithm>

namespace hocket {
namespace {

bool overlap(const MemoryExport& a, const MemoryExport& b) {
  return a.allocation_at < b.allocation_at + b.allocation_bytes &&
         b.allocation_at < a.allocation_at + a.allocation_bytes;
}

}  // namespace

GpuImports::~GpuImports() {
  for (const Entry& entry : entries_) (void)gpu_.close_import(entry.at);
  for (std::byte* const at : gone_) (void)gpu_.close_import(at);
  for (std::byte* const at : unused_) (void)gpu_.close_import(at);
}

bool GpuImports::is(const Entry& entry, std::uint32_t member, const MemoryExport& memory) {
  return entry.member == member && entry.memory.allocation == memory.allocation;
}

void GpuImports::meet(std::uint32_t member, const MemoryExport& memory) {
  for (std::size_t index = entries_.size(); index-- > 0;) {
    const Entry& entry = entries_[index];
    if (entry.member == member && !is(entry, member, memory) && overlap(entry.memory, memory)) retire(index, gone_);
  }
}

Result<std::byte*> GpuImports::find(std::uint32_t member, const MemoryExport& memory) {
  const auto is_it = [&](const Entry& entry) { return is(entry, member, memory); };
  if (const auto known = std::ranges::find_if(entries_, is_it); known != entries_.end()) {
    known->used = ++uses_;
    return known->at + memory.offset;
  }
  retire_oldest(member);
  entries_.reserve(entries_.size() + 1);
  auto opened = gpu_.import_memory(memory);
  if (!opened.ok()) return opened.status();
  entries_.push_back({.member = member, .memory = memory, .at = *opened, .used = ++uses_});
  return *opened + memory.offset;
}

void GpuImports::retire(std::size_t index, std::vector<std::byte*>& to) {
  to.push_back(entries_[index].at);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
}

void GpuImports::retire_oldest(std::uint32_t member) {
  std::size_t kept = 0, oldest = entries_.size();
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].member != member) continue;
    ++kept;
    if (oldest == entries_.size() || entries_[index].used < entries_[oldest].used) oldest = index;
  }
  if (kept >= kept_of_a_member) retire(oldest, unused_);
}

Status GpuImports::close_unused() {
  Status closed = close(gone_);
  return closed.ok() ? close(unused_) : closed;
}

Status GpuImports::close(std::vector<std::byte*>& all) {
  while (!all.empty()) {
    std::byte* const at = all.back();
    all.pop_back();
    if (Status closed = gpu_.close_import(at); !closed.ok()) return closed;
  }
  return {};
}

}  // namespace hocket
