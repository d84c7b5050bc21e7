// The same program, to see that the header is C++ as well.
#include "rollout_c.c"  // NOLINT
