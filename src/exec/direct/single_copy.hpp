// When plain memory is moved with one copy.
#pragma once

namespace hocket {

// Where plain memory is read where it lies, if it can be: `automatic` where that measured faster.
enum class SingleCopy { automatic, always, never };

}  // namespace hocket
