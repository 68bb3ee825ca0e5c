#include "quant/dtype.h"
