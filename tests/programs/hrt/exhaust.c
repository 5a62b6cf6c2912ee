/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* All memory of a small machine goes into blocks from the kernel, which says so and goes on. */
#include "../common/check.h"

#include <hadal/hrt.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A block that the program keeps, in a list. */
struct kept {
    struct kept *next;
};

/* Blocks of one size, until there are no more. */
static struct kept *all_of(uint64_t bytes, struct kept *list) {
    for (struct kept *block; (block = hrt_alloc(bytes, HRT_ZONE_ANY, 0)) != NULL;) {
        block->next = list;
        list = block;
    }
    return list;
}

/* Frees every block, or every second one; returns those that stay. */
static struct kept *give_back(struct kept *list, bool every) {
    struct kept *stay = NULL;
    while (list) {
        struct kept *block = list;
        list = block->next;
        CHECK(hrt_free(block) == HRT_OK);
        if (!every && list) {
            struct kept *other = list;
            list = other->next;
            other->next = stay;
            stay = other;
        }
    }
    return stay;
}

/* Memory is full of pages, and every second one is free: nothing larger can be had in one piece. */
static void in_pieces(uint64_t bytes) {
    struct kept *pages = give_back(all_of(4096, NULL), false);
    struct kept *small = all_of(bytes, NULL);
    CHECK(small != NULL && hrt_alloc(bytes, HRT_ZONE_ANY, 0) == NULL);
    give_back(small, true);
    give_back(pages, true);
}

/* Every thread is there, and may take memory. */
static atomic_bool may_begin;

/* Every size, the largest first. */
static void *by_halves(void *unused) {
    while (!may_begin) {
        hrt_thread_yield();
    }
    for (int round = 0; round < 2; round++) {
        struct kept *list = NULL;
        for (uint64_t size = 4 << 20; size >= 16; size /= 2) {
            list = all_of(size, list);
        }
        give_back(list, true);
    }
    return unused;
}

int main(void) {
    in_pieces(16);
    in_pieces(672);
    in_pieces(2048);
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.stack_bytes = 64 << 10;
    for (attr.cpu = 0; attr.cpu < (int32_t)hrt_cpu_count(); attr.cpu++) {
        CHECK(hrt_thread_create(NULL, &attr, by_halves, NULL) == HRT_OK);
    }
    may_begin = true;
    CHECK(hrt_thread_join_all() == HRT_OK);
    /* Some of it stays with the CPUs that freed it, in pages between others. */
    struct kept *list = all_of(4096, NULL);
    uint64_t bytes = 0;
    for (struct kept *block = list; block != NULL; block = block->next) {
        bytes += 4096;
    }
    give_back(list, true);
    struct hrt_zone_info zone;
    CHECK(hrt_zone_info(0, &zone) == HRT_OK && bytes > zone.total_bytes / 4);
    puts("memory ran out and came back");
    return 0;
}
