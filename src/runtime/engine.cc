#include "lookback/result.h"
