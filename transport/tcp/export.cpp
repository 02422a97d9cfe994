// The one symbol of libstria_provider_tcp.so.
#include "transport/tcp/tcp.hpp"

extern "C" STRIA_API const stria_provider_t stria_provider_v7;
const stria_provider_t stria_provider_v7 = stria::tcp::tcp_provider();
