/* Stands for the libucp of another installation of UCX: its version is as many minor numbers above that of
 * the headers as MINORS_ABOVE says. The release number tells the test that this library was asked. */
#include <uct/api/version.h>

__attribute__((visibility("default"))) void ucp_get_version(unsigned* major, unsigned* minor,
                                                            unsigned* release);

void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  *major = UCT_VERNO_MAJOR;
  *minor = UCT_VERNO_MINOR + MINORS_ABOVE;
  *release = 77;
}
