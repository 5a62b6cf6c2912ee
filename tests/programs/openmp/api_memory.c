// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Allocators: the predefined ones, those that a program makes, and the one that each task has.

#include "../common/check.h"

#include <omp.h>
#include <stdint.h>

static int is_zero(const unsigned char *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        if (memory[at] != 0) {
            return 0;
        }
    }
    return 1;
}

static void predefined(void) {
    CHECK_EQUAL(omp_get_default_allocator(), omp_default_mem_alloc);
    for (int number = 0; number <= 8; number++) {
        omp_allocator_handle_t allocator = (omp_allocator_handle_t)number;
        unsigned char *memory = omp_alloc(1000, allocator);
        CHECK(memory != NULL);
        memset(memory, 1, 1000);
        omp_free(memory, number % 2 ? allocator : omp_null_allocator);
        memory = omp_calloc(10, 100, allocator);
        CHECK(memory != NULL && is_zero(memory, 1000));
        memset(memory, 2, 1000);
        memory = omp_realloc(memory, 5000, allocator, allocator);
        CHECK(memory != NULL && memory[0] == 2 && memory[999] == 2);
        memset(memory, 3, 5000);
        memory = omp_realloc(memory, 10, omp_null_allocator, omp_null_allocator);
        CHECK(memory != NULL && memory[9] == 3);
        omp_free(memory, omp_null_allocator);
        for (size_t align = 8; align <= 8192; align *= 4) {
            memory = omp_aligned_alloc(align, 2 * align, allocator);
            CHECK(memory != NULL && (uintptr_t)memory % align == 0);
            memset(memory, 4, 2 * align);
            omp_free(memory, allocator);
            memory = omp_aligned_calloc(align, 2, align, allocator);
            CHECK(memory != NULL && (uintptr_t)memory % align == 0 && is_zero(memory, 2 * align));
            memset(memory, 4, 2 * align);
            omp_free(memory, allocator);
        }
    }
    omp_free(NULL, omp_null_allocator);
    CHECK(omp_alloc(0, omp_default_mem_alloc) == NULL);
    CHECK(omp_calloc(0, 5, omp_default_mem_alloc) == NULL);
    volatile size_t too_many = SIZE_MAX / 2;
    CHECK(omp_calloc(too_many, 3, omp_default_mem_alloc) == NULL);
    CHECK(omp_realloc(omp_alloc(5, omp_null_allocator), 0, omp_null_allocator, omp_null_allocator) == NULL);
}

static void traits(void) {
    omp_alloctrait_t aligned[] = {{omp_atk_alignment, 256}, {omp_atk_sync_hint, omp_atv_contended}};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 2, aligned);
    CHECK(allocator != omp_null_allocator);
    for (int turn = 0; turn < 20; turn++) {
        void *memory = omp_alloc(100 + (size_t)turn, allocator);
        CHECK(memory != NULL && (uintptr_t)memory % 256 == 0);
        omp_free(memory, allocator);
    }
    omp_destroy_allocator(allocator);

    omp_alloctrait_t pool[] = {{omp_atk_pool_size, 10000}, {omp_atk_fallback, omp_atv_null_fb}};
    allocator = omp_init_allocator(omp_large_cap_mem_space, 2, pool);
    CHECK(allocator != omp_null_allocator);
    void *first = omp_alloc(4000, allocator), *second = omp_alloc(4000, allocator);
    CHECK(first != NULL && second != NULL);
    CHECK(omp_alloc(4000, allocator) == NULL);
    omp_free(first, allocator);
    first = omp_alloc(4000, allocator);
    CHECK(first != NULL);
    omp_free(first, allocator);
    omp_free(second, allocator);
    omp_destroy_allocator(allocator);

    // A block that replaces another one of the pool needs room for the difference only.
    omp_alloctrait_t small[] = {{omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    allocator = omp_init_allocator(omp_default_mem_space, 2, small);
    CHECK(allocator != omp_null_allocator);
    char *text = omp_alloc(3000, allocator);
    CHECK(text != NULL);
    text[2999] = 'x';
    for (size_t turn = 0; turn < 10; turn++) {
        text = omp_realloc(text, 3001 + turn, allocator, allocator);
        CHECK(text != NULL && text[2999] == 'x');
    }
    CHECK(omp_realloc(text, 5000, allocator, allocator) == NULL);
    text = omp_realloc(text, 10, allocator, allocator);
    CHECK(text != NULL);
    void *beside = omp_alloc(3000, allocator);
    CHECK(beside != NULL);
    omp_free(text, allocator);
    omp_free(beside, allocator);
    beside = omp_alloc(4000, allocator);
    CHECK(beside != NULL);
    omp_free(beside, allocator);
    omp_destroy_allocator(allocator);

    // What the pool has no room for comes from another allocator.
    omp_alloctrait_t other[] = {{omp_atk_pool_size, 1},
                                {omp_atk_fallback, omp_atv_allocator_fb},
                                {omp_atk_fb_data, omp_default_mem_alloc}};
    allocator = omp_init_allocator(omp_default_mem_space, 3, other);
    CHECK(allocator != omp_null_allocator);
    void *memory = omp_alloc(100, allocator);
    CHECK(memory != NULL);
    omp_free(memory, allocator);
    omp_destroy_allocator(allocator);

    omp_alloctrait_t bad[] = {{omp_atk_alignment, 3}};
    CHECK(omp_init_allocator(omp_default_mem_space, 1, bad) == omp_null_allocator);
}

static void chosen(void) {
    omp_set_default_allocator(omp_cgroup_mem_alloc);
    CHECK_EQUAL(omp_get_default_allocator(), omp_cgroup_mem_alloc);
    int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
        wrong += omp_get_default_allocator() != omp_cgroup_mem_alloc;
#pragma omp barrier
        if (omp_get_thread_num() == 1) {
            omp_set_default_allocator(omp_thread_mem_alloc);
        }
#pragma omp barrier
        wrong += omp_get_default_allocator() !=
                 (omp_get_thread_num() == 1 ? omp_thread_mem_alloc : omp_cgroup_mem_alloc);
    }
    CHECK_EQUAL(wrong, 0);
    omp_set_default_allocator(omp_default_mem_alloc);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"predefined", predefined}, {"traits", traits}, {"chosen", chosen}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
