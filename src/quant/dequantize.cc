#include "quant/dequantize.h"
