/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The call table, which is generated (layout/calls.h), and where a program finds it. */
#ifndef HADAL_HRT_CALLS_H
#define HADAL_HRT_CALLS_H

#include "layout/calls.h"

HRT_BEGIN

/* The table of the place where the program runs; bound before main and never changed. */
extern const struct hrt_calls *hrt_calls;

HRT_END

#endif
