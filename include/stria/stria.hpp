// stria for C++20: ownership, spans and exceptions around stria.h, and nothing else. Header only; a program
// links against libstria alone, as one in C does. This is the header to include; the parts are in api/.
//
// Namespace: stria::api. The library's own namespace stria has a Status, an Error and a Layout of its own,
// which are not installed; a namespace apart lets one program (a test, say) see both without a clash. Users
// may shorten it:
//     namespace st = stria::api;
//
// Errors: setup (constructors, builders, address(), key()) throws Error. The data path (send, recv, put, get,
// fetch_add, compare_swap, progress) is noexcept and answers Status: OK, IN_PROGRESS, or negative when
// nothing was started; test, wait and the calls that wait (send_wait, recv_wait, ...) answer the outcome.
// check() turns a negative Status into an Error with its reason. Lifetimes: objects end in the reverse order
// of their making (context > worker > endpoint, region > key). Memory and layouts of an operation, and its
// Request, stay in place until its completion was seen; a temporary layout or vector does not compile.
// Destructors log what is refused, as when a worker ends inside one of its callbacks. Threads: as stria.h
// says; the wrappers add no lock.
#ifndef STRIA_STRIA_HPP
#define STRIA_STRIA_HPP

#if __cplusplus < 202002L
#error "stria.hpp needs C++20: compile with -std=c++20 or later, or include stria.h, which is plain C"
#else

#include "stria/api/context.hpp"
#include "stria/api/error.hpp"
#include "stria/api/layout.hpp"
#include "stria/api/request.hpp"
#include "stria/api/worker.hpp"

#endif
#endif
