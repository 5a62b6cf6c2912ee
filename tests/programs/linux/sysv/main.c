// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// System V IPC.
#define _GNU_SOURCE
#include "sysv.h"

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"segments", segments},
        {"places", places},
        {"parts-of-segments", parts_of_segments},
        {"removal", removal},
        {"segments-of-processes", segments_of_processes},
        {"segments-of-others", segments_of_others},
        {"segment-limits", segment_limits},
        {"sets", sets},
        {"operations", operations},
        {"waiting-for-semaphores", waiting_for_semaphores},
        {"undoing", undoing},
        {"semaphores-of-others", semaphores_of_others},
        {"turns", turns},
        {"message-queues", message_queues},
        {"types", types},
        {"waiting-for-messages", waiting_for_messages},
        {"messages-of-others", messages_of_others},
        {"traffic", traffic},
        {"listings", listings},
    };
    key = 0x48000000 + getpid();
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
