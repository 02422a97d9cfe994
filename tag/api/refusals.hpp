// How functions of stria.h refuse: each names itself, the object, the limit and the value, by
// stria_last_error().
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

/// The same, behind the name of the function.
[[gnu::cold, gnu::noinline]] stria_status_t refuse(const char* function, const Error& error) noexcept;

/// One test for all pointers that a call needs; which one is missing is found out in refuse_null.
template <class... T>
constexpr bool any_null(const T*... pointers) noexcept {
  return (static_cast<unsigned>(pointers == nullptr) | ...) != 0;
}
struct Argument {
  const char* name;
  const void* value;
};
[[gnu::cold, gnu::noinline]] stria_status_t refuse_null(const char* function,
                                                        std::initializer_list<Argument> arguments) noexcept;

/// A call that is not allowed inside a callback of the worker.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_inside_callback(const char* function) noexcept;
/// The same of a call that gives something back, whose answer few programs look at: the log has it, too.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_close(const char* function) noexcept;
/// A call that waits was given a callback.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_callback(const char* function) noexcept;
/// An object belongs to another worker.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_stranger(const char* function, const char* object,
                                                            const Worker& worker) noexcept;
/// An object was closed.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_closed(const char* function, const char* object) noexcept;

/// Whether `base` cannot be right. A NULL base with a layout is allowed where its displacements are
/// addresses.
[[gnu::cold, gnu::noinline]] bool is_no_address(const stria_layout_t* layout) noexcept;
inline bool lacks_memory(const void* base, const stria_layout_t* layout, std::uint64_t count) noexcept {
  return base == nullptr && count != 0 && is_no_address(layout);
}
[[gnu::cold, gnu::noinline]] stria_status_t no_memory(const char* function, const stria_layout_t* layout,
                                                      std::uint64_t count) noexcept;

/// Why `match` is none of the worker's: its source is an endpoint of another one, or closed. OK: it is.
inline stria_status_t check_source(const char* function, const Worker& worker,
                                   const stria_match_t& match) noexcept {
  const auto* source = reinterpret_cast<const Endpoint*>(match.source);
  if (source == nullptr || source->worker == &worker) [[likely]]
    return STRIA_OK;
  return source->worker == nullptr ? refuse_closed(function, "source")
                                   : refuse_stranger(function, "source", worker);
}

/// Names a refusal of the engine; where the engine left a reason, that.
[[gnu::cold, gnu::noinline]] stria_status_t refuse_start(Status status, const char* function,
                                                         const Peer* peer) noexcept;
/// The answer of a call that starts something with `peer` (null: with no peer in particular).
inline stria_status_t answer(Status status, const char* function, const Peer* peer) noexcept {
  if (static_cast<int>(status) < 0) [[unlikely]]
    return refuse_start(status, function, peer);
  return transport::to_c(status);
}

}  // namespace stria::tag
