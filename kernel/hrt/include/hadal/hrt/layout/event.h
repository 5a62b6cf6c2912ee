/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/event.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_EVENT_H
#define HADAL_HRT_LAYOUT_EVENT_H

#include "../base.h"

// How many events there can be.
#define HRT_EVENTS_MAX 256

// The action uses vector registers: they are saved around it. Without this flag the action and what it calls
// must be compiled as HRT_HANDLER functions (general registers only); the kernel cannot check that.
#define HRT_HANDLER_VECTORS 1u

// For hrt_event_notify_all(): the calling CPU is notified, too.
#define HRT_EVENT_SELF 1u

#endif  /* HADAL_HRT_LAYOUT_EVENT_H */
