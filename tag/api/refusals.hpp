// How functions of stria.h refuse a call: the text of stria_last_error() names the function, the object, the
// limit and the value.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "tag/last_error.hpp"
#include "tag/worker.hpp"

namespace stria::tag {

inline stria_status_t refuse(const Error& error) noexcept {
  set_last_error(error.status, error.context);
  return transport::to_c(error.status);
}
template <class... Args>
[[gnu::cold]] stria_status_t refuse(Status status, fmt::format_string<Args...> format,
                                    Args&&... args) noexcept {
  format_last_error(status, format, std::forward<Args>(args)...);
  return transport::to_c(status);
}

/// Refuses with `error`; the text begins with the name of the function.
[[gnu::cold, gnu::noinline]] stria_status_t refuse(const char* function, const Error& error) noexcept;

/// One test for all pointers that a call needs; refuse_null() finds out which one is missing.
template <class... T>
constexpr bool any_null(const T*... pointers) noexcept {
  return (static_cast<unsigned>(pointers == nullptr) | ...) != 0;
}
struct Argument {
  const char* name;
  const void* value;
};
/// Refuses a call, and names the first of the arguments that is NULL.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_null(const char* function,
                                                        std::initializer_list<Argument> arguments) noexcept;

/// Refuses a call that is not allowed inside a callback of the worker.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_inside_callback(const char* function) noexcept;
/// Refuses, inside a callback, a call that gives something back. Few programs look at the answer of such a
/// call, so the refusal goes to the log, too.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_close(const char* function) noexcept;
/// Refuses a callback for a call that waits itself.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_callback(const char* function) noexcept;
/// Refuses an object that belongs to another worker than this one.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_stranger(const char* function, const char* object,
                                                            const Worker& worker) noexcept;
/// Refuses an object that was closed.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_closed(const char* function, const char* object) noexcept;

/// Whether a NULL `base` cannot be right with this layout. It is right where the displacements of the layout
/// are addresses.
[[gnu::cold, gnu::noinline]] bool is_no_address(const stria_layout_t* layout) noexcept;
/// Whether `base` is NULL, and that cannot be right.
inline bool lacks_memory(const void* base, const stria_layout_t* layout, std::uint64_t count) noexcept {
  return base == nullptr && count != 0 && is_no_address(layout);
}
/// Refuses the NULL `base` of a call for which lacks_memory() is true.
[[gnu::cold, gnu::noinline]] stria_status_t no_memory(const char* function, const stria_layout_t* layout,
                                                      std::uint64_t count) noexcept;

/// Refuses a match whose source is an endpoint of another worker, or closed; OK otherwise.
inline stria_status_t check_source(const char* function, const Worker& worker,
                                   const stria_match_t& match) noexcept {
  const auto* source = reinterpret_cast<const Endpoint*>(match.source);
  if (source == nullptr || source->worker == &worker) [[likely]]
    return STRIA_OK;
  return source->worker == nullptr ? refuse_closed(function, "source")
                                   : refuse_stranger(function, "source", worker);
}

/// Answers a call that the worker refused with `status`. The text is the reason that was left for this status
/// (claim_last_error()), or one made here.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_start(Status status, const char* function,
                                                         const Peer* peer) noexcept;
/// The answer of a call that starts something with `peer` (null: with no peer in particular).
inline stria_status_t answer(Status status, const char* function, const Peer* peer) noexcept {
  if (static_cast<int>(status) < 0) [[unlikely]]
    return refuse_start(status, function, peer);
  return transport::to_c(status);
}

}  // namespace stria::tag
