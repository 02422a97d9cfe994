// A provider that does nothing, with one fault chosen at compile time: FAULT_none is a good one.
#include "stria/provider.h"

namespace {

constexpr stria_status_t kNo = STRIA_ERR_UNSUPPORTED;

[[maybe_unused]] constexpr stria_group_keys_t kKeys = {
#ifdef FAULT_group_size
    .size = sizeof(stria_group_keys_t) - 8,
#else
    .size = sizeof(stria_group_keys_t),
#endif
    .fast_register = [](stria_device_t*, stria_link_t*, const stria_payload_t*, unsigned,
                        stria_provider_key_t*) { return kNo; },
#ifdef FAULT_group_function
    .invalidate = nullptr,
#else
    .invalidate = [](stria_device_t*, const stria_provider_key_t*) { return kNo; },
#endif
    .send_invalidate = [](stria_link_t*, const stria_header_t*, const void*, uint32_t,
                          const stria_provider_key_t*) { return kNo; },
};
[[maybe_unused]] constexpr stria_group_put_t kPut = {
    .size = sizeof(stria_group_put_t),
    .put = [](stria_link_t*, const stria_payload_t*, const stria_provider_key_t*, uint64_t,
              stria_completion_t*) { return kNo; },
};
[[maybe_unused]] constexpr stria_group_bulk_t kBulk = {
    .size = sizeof(stria_group_bulk_t),
#ifdef FAULT_bulk
    .zcopy_send = nullptr,
#else
    .zcopy_send = [](stria_link_t*, const stria_header_t*, const stria_payload_t*,
                     stria_completion_t*) { return kNo; },
#endif
};

#ifdef FAULT_variable
[[maybe_unused]] constexpr stria_variable_t kVariables[] = {{
    .name = "STRIA_VARIABLE_SIZE",
    .kind = STRIA_VARIABLE_BYTES,
    .level = STRIA_CONFIG_EXPERT,
    .default_value = "4T",
    .unit = "bytes",
    .choices = "",
    .minimum = 0,
    .maximum = 4096,
    .meaning = "Nothing.",
}};
#endif

}  // namespace

#ifdef FAULT_symbol
#define stria_provider_v7 stria_provider_v6
#endif
extern "C" STRIA_API const stria_provider_t stria_provider_v7;
const stria_provider_t stria_provider_v7 = {
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
    .open = [](const stria_device_params_t*, stria_device_t**, char*, uint32_t) { return kNo; },
    .close = [](stria_device_t*, int) {},
    .capabilities = [](stria_device_t*, stria_capabilities_t*) {},
    .address = [](stria_device_t*, void*, uint32_t) { return 0u; },
    .connect = [](stria_device_t*, const void*, uint32_t, void*, int, stria_link_t**, char*,
                  uint32_t) { return kNo; },
    .link_limits = [](stria_link_t*, stria_link_limits_t*) {},
    .eager_send = [](stria_link_t*, const stria_header_t*, const stria_payload_t*) { return kNo; },
    .progress = [](stria_device_t*, unsigned) { return 0u; },
#ifdef FAULT_core
    .check = nullptr,
#else
    .check = [](stria_device_t*) {},
#endif
    .event_fd = [](stria_device_t*) { return -1; },
    .arm = [](stria_device_t*) { return kNo; },
#ifndef FAULT_group_needs
    .keys = &kKeys,
#endif
    .put = &kPut,
    .bulk = &kBulk,
#if defined(FAULT_variable)
    .variables = kVariables,
    .variable_count = 1,
#elif defined(FAULT_no_variables)
    .variables = nullptr,
    .variable_count = 3,
#else
    .variables = nullptr,
    .variable_count = 0,
#endif
};
