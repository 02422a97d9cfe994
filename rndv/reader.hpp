// Reader: how a receiver reads a message, or the end of a message, out of the sender's memory through the
// announced key.
//
//   get.cpp           all of the message, from the beginning on
//   help.cpp          the end of a message that comes as fragments, while its sender is silent
//   mapped_both.cpp   the end of a message between mapped memories, whose begin the sender stores
//
// Bytes that cannot be read are asked for as fragments (requests.hpp).
#pragma once

#include <cstdint>

#include "rndv/common.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held. Every step answers true when something moved.
class Reader {
 public:
  Reader(const Common& common, Requests& requests) noexcept
      : options_(common.options),
        operations_(common.operations),
        finisher_(common.finisher),
        owner_(common.owner),
        requests_(requests) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Reads the next slice of a message that is read from its beginning.
  bool step_reading(RecvOp& op) noexcept;
  /// Mapped by both: reads the next piece at the end of the message, but not the piece that the sender is
  /// putting, unless the sender is silent.
  bool step_mapped_both(RecvOp& op) noexcept;
  /// Every few calls, searches for a silent link and reads one slice of its first receive; then it returns,
  /// so that the provider is polled again.
  bool help() noexcept;

 private:
  std::uint64_t longest_get(const RecvOp& op) const noexcept;
  [[gnu::cold, gnu::noinline]] void request_fragments(RecvOp& op) noexcept;
  bool go_on_without_get(RecvOp& op) noexcept;
  bool read_slice(RecvOp& op) noexcept;
  Status read_tail(RecvOp& op, std::uint64_t bytes) noexcept;
  void get_was_refused(RecvOp& op) noexcept;
  static void tail_get_ended(RecvOp& op, Status status) noexcept;
  static void skip_received(RecvOp& op) noexcept;
  static bool is_silent(transport::Silence& silence, std::uint32_t patience_us) noexcept;
  static void on_get_done(stria_completion_t* completion, stria_status_t status) noexcept;

  const Options& options_;
  Operations& operations_;
  Finisher& finisher_;
  Owner& owner_;
  Requests& requests_;
  std::uint32_t rounds_ = 0;  // calls of help()
};

}  // namespace stria::rndv
