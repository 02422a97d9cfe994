// Keeps UCX from patching the C library when the provider is loaded.
//
// When libucs is loaded, it hands its options to libucm by ucm_set_global_opts(), and that writes jumps over
// the first instructions of mmap(), munmap(), brk() and their like, so that UCX's cache of registrations sees
// memory go away. The provider does without that cache. It is loaded into programs that may have threads
// already, which may be in these functions meanwhile, and a program need not bear such hooks for it.
//
// So the provider exports the function, and libucs, which is loaded for it, calls it here: the dynamic linker
// looks a name up in the program's own libraries, and then in the library that was asked for before those
// that it needs. (The provider is never unloaded, so that libucs may go on to call it.) This function
// sets all options, but installs no hooks. Another user of UCX in this process gets the hooks by asking UCX
// for them (ucm_set_event_handler). Where another user has loaded libucs before, UCX's own function was
// called, and its hooks stay.
#include <dlfcn.h>
#include <ucm/api/ucm.h>

#include <cstddef>
#include <utility>

// Declared once more, for the visibility.
extern "C" [[gnu::visibility("default")]] void ucm_set_global_opts(const ucm_global_config_t* options);

extern "C" void ucm_set_global_opts(const ucm_global_config_t* options) {
  const auto set =
      reinterpret_cast<decltype(&ucm_set_global_opts)>(::dlsym(RTLD_NEXT, "ucm_set_global_opts"));
  if (set == nullptr) return;  // UCX has its defaults then
  static_assert(offsetof(ucm_global_config_t, mmap_hook_mode) == 8, "as in each UCX that has this function");
  // UCX installs hooks at the first call only. A copy of the options would be as long as those of the UCX of
  // the build, and the version of this one is not checked yet. They are not constant: UCX has just read them.
  auto& mode = const_cast<ucm_global_config_t*>(options)->mmap_hook_mode;
  const auto asked = std::exchange(mode, UCM_MMAP_HOOK_NONE);
  set(options);
  mode = asked;
  set(options);
}
