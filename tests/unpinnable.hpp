// Memory that its process uses as any other and that the kernel does not reach for another process, as the
// mappings of drivers are; and a kernel that says so of all memory. Needs no privilege.
//
//   SecretMemory      memfd_secret(2): read and written; not on every kernel
//   time_page()       the vvar page, from which clock_gettime() reads: a mapping with VM_PFNMAP, read only,
//   on
//                     every kernel of x86 and arm64
//   answer_with()     process_vm_readv and process_vm_writev of this thread end with an error number
#pragma once

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace stria::test {

class SecretMemory {
 public:
  /// At `at` or, if that is null, anywhere. Both multiples of a page.
  explicit SecretMemory(std::size_t bytes, void* at = nullptr) : bytes_(bytes) {
    constexpr long kMemfdSecret = 447;  // of all architectures; older headers lack it
    rlimit locked{};
    if (::getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {  // it counts as locked memory
      locked.rlim_cur = locked.rlim_max;
      ::setrlimit(RLIMIT_MEMLOCK, &locked);
    }
    const int fd = static_cast<int>(::syscall(kMemfdSecret, 0));
    if (fd < 0) {
      why_ = std::string("memfd_secret: ") + std::strerror(errno);
      return;
    }
    void* mapped = MAP_FAILED;
    if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0)
      mapped = ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at != nullptr ? MAP_FIXED : 0), fd, 0);
    if (mapped == MAP_FAILED)
      why_ = "mmap of " + std::to_string(bytes) + " bytes of memfd_secret: " + std::strerror(errno);
    else
      data_ = static_cast<std::byte*>(mapped);
    ::close(fd);
  }
  ~SecretMemory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  SecretMemory(const SecretMemory&) = delete;
  SecretMemory& operator=(const SecretMemory&) = delete;

  /// Null: this system has none, and why() says what is missing.
  std::byte* data() const { return data_; }
  const std::string& why() const { return why_; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
  std::string why_;
};

/// 4096 bytes that can be read, some of which change; null: this process has no such page.
inline const std::byte* time_page() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return nullptr;
  char line[512];
  unsigned long begin = 0;
  while (std::fgets(line, sizeof line, maps) != nullptr)
    if (std::strstr(line, "[vvar]") != nullptr && std::sscanf(line, "%lx-", &begin) == 1) break;
  std::fclose(maps);
  return reinterpret_cast<const std::byte*>(begin);
}

/// From here on reads, writes, or both of other processes' memory fail with `error` in this thread, for ever.
/// False: the kernel has no seccomp.
inline bool answer_with(int error, bool reads, bool writes) {
  const auto no = static_cast<std::uint32_t>(-1);  // no system call has this number
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, reads ? SYS_process_vm_readv : no, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, writes ? SYS_process_vm_writev : no, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace stria::test
