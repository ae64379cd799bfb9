// The proof as a page to look at.
#pragma once

#include <string>

#include "tools/sgd/proof.hpp"

namespace hocket::sgd {

// A whole HTML document, with plots inside and nothing loaded from elsewhere.
std::string page(const Proven& proven);

}  // namespace hocket::sgd
