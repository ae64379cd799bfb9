// Few: a list that is mostly one element long, and then takes no memory of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace hocket {

template <class Element>
class Few {
 public:
  Few() = default;
  explicit Few(Element only) : only_(std::move(only)) {}

  std::size_t size() const { return only_ ? 1 : several_ ? several_->size() : 0; }
  bool empty() const { return size() == 0; }
  const Element* data() const { return only_ ? &*only_ : several_ ? several_->data() : nullptr; }
  Element* data() { return only_ ? &*only_ : several_ ? several_->data() : nullptr; }
  const Element* begin() const { return data(); }
  const Element* end() const { return data() + size(); }
  Element* begin() { return data(); }
  Element* end() { return data() + size(); }
  const Element& operator[](std::size_t at) const { return data()[at]; }
  const Element& front() const { return *begin(); }
  const Element& back() const { return *(end() - 1); }
  Element& back() { return *(end() - 1); }

  // If memory runs out, nothing has happened.
  void push_back(Element element) {
    if (empty()) {
      only_.emplace(std::move(element));
      return;
    }
    if (only_) {
      auto several = std::make_unique<std::vector<Element>>();
      several->reserve(2);
      several->push_back(std::move(*only_));
      only_.reset();
      several_ = std::move(several);
    }
    several_->push_back(std::move(element));
  }

 private:
  std::optional<Element> only_;
  std::unique_ptr<std::vector<Element>> several_;  // where they are more than one
};

}  // namespace hocket
