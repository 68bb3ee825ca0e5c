#include "base/parallel.h"
