#include "rndv/plan.hpp"

#include "rndv/protocols/list.hpp"
#include "rndv/stored_key.hpp"

namespace stria::rndv {
namespace {

using transport::LinkRef;

/// Whether both sides of a message between mapped memories may copy a part of it each (mapped_both.cpp). The
/// receiver's key travels in an RTR, which has to fit the PIO window: in the eager buffers there may be no
/// room, as peers hold them. A long key may not fit the window even so; Acceptor notices that when it has
/// made the key.
bool can_copy_by_both(const LinkRef& link, const Options& options) noexcept {
  return options.copy_by_both && link.can_map && !link.offload &&
         link.pio_below > sizeof(wire::RtrBody) + StoredKey::kInlineBytes;
}

/// What the sender knows when it announces a message: nothing of the receiver's memory and caches.
MessageFacts facts_of_sender(std::uint64_t length, const Blocks& source, const LinkRef& link,
                             const Options& options) noexcept {
  return {.length = length,
          .source_block = source.mean_bytes,
          .can_get = link.can_get,
          .force = options.force,
          .source_sparse = source.sparse,
          .offload = link.offload,
          .distant = link.distant && !link.offload,
          .self = link.self};
}

/// What the receiver knows of the message.
MessageFacts facts_of(const Message& m, const LinkRef& link, const Options& options) noexcept {
  return {.length = m.length,
          .source_block = m.source.mean_bytes,
          .sink_block = m.sink.mean_bytes,
          .can_get = link.can_get && m.has_key,
          .can_copy_by_both = can_copy_by_both(link, options),
          .force = options.force,
          .source_sparse = m.source.sparse,
          .sink_sparse = m.sink.sparse,
          .turned = m.source.turned || m.sink.turned,
          .far = link.far,
          .flows = options.flows,
          .busy = m.busy && !link.offload,
          .offload = link.offload,
          .distant = link.distant && !link.offload,
          .grows = link.grows,
          .self = link.self,
          .mapped = link.can_map && m.has_key && m.source_mapped,
          .sink_mapped = m.sink_mapped};
}

}  // namespace

KeyPlan plan_key(std::uint64_t length, const Blocks& source, const LinkRef& link,
                 const Options& options) noexcept {
  KeyPlan plan;
  MessageFacts best = facts_of_sender(length, source, link, options);
  if (link.gathers && source.mean_bytes != 0) {
    best.source_gathered = true;
    plan.gathered = choose(best).protocol->keys == Keys::senders;
    best.source_gathered = false;
  }
  const Choice choice = choose(best);
  if (choice.protocol->keys == Keys::senders || can_help(best, choice)) {
    plan.plain = KeyPlan::Key::any;
  } else if (link.can_map) {
    best.can_get = false;
    best.mapped = best.sink_mapped = true;
    best.can_copy_by_both = can_copy_by_both(link, options);
    if (choose(best).protocol->keys != Keys::none) plan.plain = KeyPlan::Key::mapped;
  }
  return plan;
}

Message message_announced(std::uint64_t length, const Blocks& source, const Blocks& sink, const KeyPlan& keys,
                          bool source_mapped, bool sink_mapped) noexcept {
  const bool shows_memory =
      keys.plain == KeyPlan::Key::any || (keys.plain == KeyPlan::Key::mapped && source_mapped);
  return {.length = length,
          .source = keys.gathered ? Blocks{} : source,
          .sink = sink,
          .has_key = keys.gathered || shows_memory,
          .source_mapped = source_mapped,
          .sink_mapped = sink_mapped};
}

ReceivePlan plan_receive(const Message& m, const LinkRef& link, const Options& options) noexcept {
  const MessageFacts facts = facts_of(m, link, options);
  ReceivePlan plan{.choice = choose(facts)};
  Protocols::call(plan.choice.protocol,
                  [&](const auto& taken) { taken.receive.plan(plan, facts, link, options); });
  return plan;
}

const char* reason_of(const Message& m, const LinkRef& link, const Options& options) noexcept {
  const MessageFacts facts = facts_of(m, link, options);
  return reason_of(facts, choose(facts));
}

}  // namespace stria::rndv
