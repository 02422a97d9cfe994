// Reader: how a receiver reads a message, or its end, out of the sender's memory through the announced key.
//
//   get.cpp     all of it, from the beginning on
//   help.cpp    the end of a message that comes as fragments, while its sender is silent
//   share.cpp   the end of a message whose begin the sender puts
//
// What cannot be read is asked for as fragments (requests.hpp).
#pragma once

#include <cstdint>

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"
#include "rndv/owner.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

/// Threads: the worker's lock. Every step answers true when something moved.
class Reader {
 public:
  Reader(const Options& options, Operations& operations, Ends& ends, Requests& requests,
         Owner& owner) noexcept
      : options_(options), operations_(operations), ends_(ends), requests_(requests), owner_(owner) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Reads the next slice of a message that is read from its beginning.
  bool step_reading(RecvOp& op) noexcept;
  /// Reads what is left of the end, but not the piece that the sender is at, unless it is silent.
  bool step_sharing(RecvOp& op) noexcept;
  /// Now and then looks for a silent link, and reads one slice of its first receive: then the provider has to
  /// be asked again.
  bool help() noexcept;

 private:
  std::uint64_t longest_get(const RecvOp& op) const noexcept;
  [[gnu::cold, gnu::noinline]] void go_packed(RecvOp& op) noexcept;
  bool go_on_without_get(RecvOp& op) noexcept;
  bool read_slice(RecvOp& op) noexcept;
  Status read_end(RecvOp& op, std::uint64_t bytes) noexcept;
  void get_was_refused(RecvOp& op) noexcept;
  static void helped(RecvOp& op, Status status) noexcept;
  static void pass_ahead(RecvOp& op) noexcept;
  static bool is_silent(transport::Silence& silence, std::uint32_t patience_us) noexcept;
  static void on_get_done(stria_completion_t* completion, stria_status_t status) noexcept;

  const Options& options_;
  Operations& operations_;
  Ends& ends_;
  Requests& requests_;
  Owner& owner_;
  std::uint32_t rounds_ = 0;  // of help()
};

}  // namespace stria::rndv
