// SPDX-License-Identifier: Apache-2.0 OR MIT
// All that translated programs use.
#ifndef NDPC_NDPC_H
#define NDPC_NDPC_H

#include "collection.h"
#include "each.h"
#include "filter.h"
#include "index.h"
#include "nested.h"
#include "parts.h"
#include "print.h"
#include "program.h"
#include "reduce.h"
#include "scalar.h"
#include "scatter.h"
#include "text.h"

#endif
