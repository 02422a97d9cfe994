#include "transport/verbs/handshake.hpp"

#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "transport/fingerprint.hpp"
#include "transport/wire.hpp"

namespace stria::verbs {
namespace {

constexpr std::uint8_t kMostReads = 16;       // under way at a time on a link, in each direction
constexpr std::uint8_t kRetries = 6;          // a field of three bits; with 7 rxe retransmits without end
constexpr std::uint8_t kRetriesNotReady = 7;  // 7: without end

}  // namespace

Hello Handshake::hello_to(const Connection& connection) const noexcept {
  return {kHelloMagic,
          kVersion,
          wire::kVersion,
          params_.credits,
          params_.worker_id,
          connection.worker,
          transport::fingerprint(params_.secret, params_.worker_id, connection.worker),
          connection.number.number,
          params_.eager_bytes};
}

rdma_conn_param Handshake::parameters(const Hello& hello) const noexcept {
  rdma_conn_param out{};
  out.private_data = &hello;
  out.private_data_len = sizeof hello;
  const auto reads = static_cast<std::uint8_t>(std::min<std::uint32_t>(params_.max_reads, kMostReads));
  out.responder_resources = reads;
  out.initiator_depth = reads;
  out.retry_count = kRetries;
  out.rnr_retry_count = kRetriesNotReady;
  return out;
}

bool Handshake::read(const void* data, std::size_t bytes, std::uint64_t from, Hello& out,
                     Reason& reason) const noexcept {
  out = {};
  if (bytes >= sizeof out) std::memcpy(&out, data, sizeof out);
  reason = Reason::version;
  if (out.magic != kHelloMagic || out.version != kVersion || out.wire_version != wire::kVersion) return false;
  reason = Reason::other_worker;
  if (out.to != params_.worker_id || out.from == 0 || (from != 0 && out.from != from)) return false;
  reason = Reason::secret;
  if (out.proof != transport::fingerprint(params_.secret, out.from, params_.worker_id)) return false;
  reason = Reason::broken;
  return out.credits > 0 && out.eager_bytes > 0;
}

Refusal Handshake::refusal(Reason reason) noexcept {
  return {kHelloMagic, kVersion, wire::kVersion, reason, 0};
}

std::string Handshake::text_of(const Refusal& refusal) {
  switch (refusal.reason) {
    case Reason::version:
      return fmt::format("the peer's verbs provider has version {} and wire version {}, this has {} and {}",
                         refusal.version, refusal.wire_version, kVersion, wire::kVersion);
    case Reason::secret:
      return "the peer has another job secret";
    case Reason::other_worker:
      return "another worker has the peer's address now: it is gone";
    case Reason::full:
      return "the peer has no room for another link (STRIA_VERBS_LINKS, or memory for its buffers)";
    case Reason::yours_comes:
      return "the peer connects itself, and its connection did not come";
    case Reason::busy:
      return "the peer did not let go of an earlier connection";
    case Reason::broken:
      break;
  }
  return "the peer could not accept";
}

}  // namespace stria::verbs
