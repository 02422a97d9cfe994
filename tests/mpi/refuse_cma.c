/* refuse_cma PROGRAM [ARGUMENT...]: runs PROGRAM with process_vm_readv and process_vm_writev refused by a
 * seccomp filter (EPERM), as container runtimes do. The filter outlives exec. Ends with 77 when the kernel
 * has no seccomp. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof program / sizeof program[0], program};
  char from = 'a';
  char to = 'b';
  struct iovec local = {&to, 1};
  struct iovec remote = {&from, 1};
  if (argc < 2) {
    fprintf(stderr, "refuse_cma: no program given\n");
    return 2;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    fprintf(stderr, "refuse_cma: SKIPPED: no seccomp filter here: %s\n", strerror(errno));
    return 77;
  }
  if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != -1 || errno != EPERM) {
    fprintf(stderr, "refuse_cma: the filter does not refuse process_vm_readv\n");
    return 1;
  }
  execvp(argv[1], argv + 1);
  fprintf(stderr, "refuse_cma: %s: %s\n", argv[1], strerror(errno));
  return 127;
}
