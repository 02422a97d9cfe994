// The one symbol of libstria_provider_verbs.so.
#include "transport/verbs/verbs.hpp"

extern "C" STRIA_API const stria_provider_t stria_provider_v7;
const stria_provider_t stria_provider_v7 = stria::verbs::verbs_provider();
