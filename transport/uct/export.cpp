// The table of the uct provider, which libstria_provider_uct.so exports. The one other symbol that it exports
// is in unhooked.cpp.
#include "transport/uct/uct.hpp"

extern "C" STRIA_API const stria_provider_t stria_provider_v7;
const stria_provider_t stria_provider_v7 = stria::uct::uct_provider();
