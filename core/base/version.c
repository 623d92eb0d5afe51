#include <ccw/ccw.h>

const char *ccw_version(void) { return CCW_VERSION; }

bool ccw_catches_exceptions(void)
{
#ifdef CCW_HAS_BARRIER
  return true;
#else
  return false;
#endif
}
