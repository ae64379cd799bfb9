// Fifo: a queue in one piece of memory, which grows and stays: where elements come and go all the time, std::deque
// takes memory and gives it back again and again.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket {

template <class Element>
class Fifo {
  static_assert(std::is_nothrow_move_assignable_v<Element>);

 public:
  bool empty() const { return first_ == end_; }
  std::size_t size() const { return end_ - first_; }
  // Then the next one needs more memory.
  bool full() const { return size() == places_.size(); }
  Element& front() { return places_[place(first_)]; }
  const Element& front() const { return places_[place(first_)]; }
  const Element& back() const { return places_[place(end_ - 1)]; }
  // From the front on.
  Element& operator[](std::size_t at) { return places_[place(first_ + at)]; }
  const Element& operator[](std::size_t at) const { return places_[place(first_ + at)]; }
  // If memory runs out, nothing has happened.
  [[gnu::always_inline]] void push_back(Element element) {
    if (full()) [[unlikely]]
      grow();
    places_[place(end_)] = std::move(element);
    ++end_;
  }
  // What is trivial to destroy stays in memory until its place is needed.
  void pop_front() {
    if constexpr (!std::is_trivially_destructible_v<Element>) front() = Element();
    ++first_;
  }

 private:
  std::size_t place(std::size_t number) const { return number & (places_.size() - 1); }  // a power of two
  [[gnu::noinline]] void grow() {
    constexpr std::size_t least = 8;
    std::vector<Element> places(places_.empty() ? least : 2 * places_.size());
    for (std::size_t i = 0; i < size(); ++i) places[i] = std::move(places_[place(first_ + i)]);
    end_ = size();
    first_ = 0;
    places_.swap(places);
  }

  std::vector<Element> places_;
  std::size_t first_ = 0, end_ = 0;  // counted through
};

}  // namespace hocket
