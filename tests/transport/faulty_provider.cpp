// A provider that does nothing, with one fault chosen at compile time: FAULT_none is a good one.
#include "stria/provider.h"

namespace {

constexpr stria_status_t kNo = STRIA_ERR_UNSUPPORTED;

constexpr stria_hot_ops_t kOps = {
#ifdef FAULT_ops_size
    .size = sizeof(stria_hot_ops_t) - 8,
#else
    .size = sizeof(stria_hot_ops_t),
#endif
#ifdef FAULT_ops_version
    .version = STRIA_PROVIDER_VERSION + 7,
#else
    .version = STRIA_PROVIDER_VERSION,
#endif
    .pio_send = [](stria_link_t*, const stria_header_t*, const void*, uint32_t) { return kNo; },
    .eager_send = [](stria_link_t*, const stria_header_t*, const stria_payload_t*) { return kNo; },
    .send_invalidate = [](stria_link_t*, const stria_header_t*, const void*, uint32_t,
                          const stria_provider_key_t*) { return kNo; },
    .fast_register = [](stria_device_t*, stria_link_t*, const stria_payload_t*, unsigned,
                        stria_provider_key_t*) { return kNo; },
    .invalidate = [](stria_device_t*, const stria_provider_key_t*) { return kNo; },
    .get = [](stria_link_t*, const stria_payload_t*, const stria_provider_key_t*, uint64_t,
              stria_completion_t*) { return kNo; },
#ifdef FAULT_ops_entry
    .put = nullptr,
#else
    .put = [](stria_link_t*, const stria_payload_t*, const stria_provider_key_t*, uint64_t,
              stria_completion_t*) { return kNo; },
#endif
    .get_finish = [](stria_link_t*, const stria_payload_t*, const stria_provider_key_t*, uint64_t,
                     const stria_header_t*, stria_completion_t*) { return kNo; },
    .progress = [](stria_device_t*, unsigned) { return 0u; },
    .poll = [](stria_link_t*, unsigned) { return 0u; },
    .atomic = [](stria_link_t*, const stria_remote_atomic_t*, const stria_provider_key_t*,
                 stria_completion_t*) { return kNo; },
    .take = [](stria_link_t*, stria_header_t*, void*, uint32_t) { return STRIA_TAKE_OTHER; },
    .release = [](stria_link_t*, uint64_t) {},
    .kept_arrived = [](stria_link_t*, uint64_t, uint32_t, uint32_t) { return 0u; },
};

}  // namespace

#ifdef FAULT_symbol
#define stria_provider_v1 stria_provider_v0
#endif
extern "C" STRIA_API const stria_provider_t stria_provider_v1;
const stria_provider_t stria_provider_v1 = {
#ifdef FAULT_size
    .size = sizeof(stria_provider_t) - 8,
#else
    .size = sizeof(stria_provider_t),
#endif
#ifdef FAULT_version
    .version = STRIA_PROVIDER_VERSION + 41,
#else
    .version = STRIA_PROVIDER_VERSION,
#endif
#ifdef FAULT_name
    .name = "somebody_else",
#else
    .name = PROVIDER_NAME,
#endif
    .description = "does nothing",
    .ops = &kOps,
    .open = [](const stria_device_params_t*, stria_device_t**, char*, uint32_t) { return kNo; },
    .close = [](stria_device_t*, int) {},
    .capabilities = [](stria_device_t*, stria_capabilities_t*) {},
    .address = [](stria_device_t*, void*, uint32_t) { return 0u; },
    .connect = [](stria_device_t*, const void*, uint32_t, void*, int, stria_link_t**, char*,
                  uint32_t) { return kNo; },
    .link_limits = [](stria_link_t*, stria_link_limits_t*) {},
#ifdef FAULT_entry
    .check = nullptr,
#else
    .check = [](stria_device_t*) {},
#endif
    .event_fd = [](stria_device_t*) { return -1; },
    .arm = [](stria_device_t*) { return kNo; },
    .mem_alloc = [](uint64_t, void**, char*, uint32_t) { return kNo; },
    .mem_free = [](void*) { return kNo; },
};
