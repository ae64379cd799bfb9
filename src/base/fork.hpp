// Sockets that end with their process. A forked child holds copies of its parent's sockets; as long as it lives, peers
// would not see that the parent has died.
#pragma once

namespace hocket {

// Children that are forked from now on do not hold this socket: their copy stands for /dev/null, or for
// another file that is no concern of the parent's.
void keep_from_children(int socket);

}  // namespace hocket
