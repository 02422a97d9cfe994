// Memory that peers map, in tests: an owner in a process of its own, and accesses to what it lends.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "tests/transport/shm/node.hpp"

namespace stria::shm::test {

constexpr std::size_t kBytes = 300000;

using ::testing::HasSubstr;

inline const transport::HotOps& ops() {
  return Node::ops();
}
inline Bytes as_bytes(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return {bytes, bytes + size};
}
inline std::byte* allocate(std::uint64_t bytes, std::string* why = nullptr) {
  void* out = nullptr;
  std::array<char, 300> error{};
  if (Node::table().memory->mem_alloc(nullptr, bytes, &out, error.data(), error.size()) != STRIA_OK &&
      why != nullptr)
    *why = error.data();
  return static_cast<std::byte*>(out);
}
inline stria_provider_key_t lend(Node& node, const stria_payload_t& region) {
  stria_provider_key_t key{};
  EXPECT_EQ(ops().fast_register(node.device(), nullptr, &region, 3, &key), STRIA_OK);
  return key;
}
inline void send_key(Child& to, const stria_provider_key_t& key) {
  to.send(as_bytes(&key, sizeof key));
}
inline stria_provider_key_t receive_key(Child& from) {
  stria_provider_key_t key{};
  const Bytes bytes = from.receive();
  if (bytes.size() == sizeof key) std::memcpy(&key, bytes.data(), sizeof key);
  return key;
}
inline Status get(stria_link_t* link, Bytes& out, const stria_provider_key_t& key, std::uint64_t offset) {
  const stria_payload_t local = memory(out.data(), out.size());
  return static_cast<Status>(ops().get(link, &local, &key, offset, nullptr));
}
inline Status put(stria_link_t* link, const Bytes& in, const stria_provider_key_t& key,
                  std::uint64_t offset) {
  const stria_payload_t local = memory(in.data(), in.size());
  return static_cast<Status>(ops().put(link, &local, &key, offset, nullptr));
}
/// Mappings of allocations in this process.
inline int mapped_here() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("memfd:stria-memory") != std::string::npos ? 1 : 0;
  return count;
}
/// Lends an allocation and waits to be killed; the second word frees it, the third allocates and lends again.
inline int short_owner(Child& parent) {
  Node node(2);
  std::byte* buffer = allocate(kBytes);
  const Bytes fill = pattern(1, kBytes);
  std::copy(fill.begin(), fill.end(), buffer);
  parent.send(node.address());
  const auto key = lend(node, memory(buffer, kBytes));
  send_key(parent, key);
  parent.receive();
  ops().invalidate(node.device(), &key);
  Node::table().memory->mem_free(nullptr, buffer);
  parent.send(as_bytes("x", 1));
  parent.receive();
  buffer = allocate(kBytes);
  const Bytes other = pattern(2, kBytes);
  std::copy(other.begin(), other.end(), buffer);
  send_key(parent, lend(node, memory(buffer, kBytes)));
  parent.receive();
  return 0;
}

/// From here on the system refuses it, to this process and its children.
inline bool forbid_cross_memory_attach() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace stria::shm::test
