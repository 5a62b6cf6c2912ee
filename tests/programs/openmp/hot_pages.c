// SPDX-License-Identifier: Apache-2.0 OR MIT
// Data of this small program and what the run-time in the place of libgomp needs all the time are on pages
// whose numbers differ in their low bits: QEMU's translator has one entry for all that have them in common.
#define _GNU_SOURCE
#include "common/check.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

// As few entries as the translator ever has.
enum { PAGE = 4096, ENTRIES = 64 };

// So that the program has data on as many pages as small programs do.
static volatile char more[4 * PAGE] = {1};
static bool is_taken[ENTRIES];
static int libraries;

static size_t entry(uintptr_t address) { return address / PAGE % ENTRIES; }

static void take(uintptr_t from, uintptr_t to) {
    for (uintptr_t page = from & -(uintptr_t)PAGE; page < to; page += PAGE) {
        is_taken[entry(page)] = true;
    }
}

static int look(struct dl_phdr_info *object, size_t size, void *number) {
    bool is_program = (*(int *)number)++ == 0;
    bool is_library = strstr(object->dlpi_name, "libgomp") != NULL;
    for (int i = 0; i < object->dlpi_phnum && size != 0; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + part->p_vaddr;
        if (is_program && part->p_type == PT_LOAD && (part->p_flags & PF_W)) {
            take(start, start + part->p_memsz);
        }
        if (is_library && part->p_type == PT_GNU_RELRO) {
            // Where thread-local words are is told on the last page that becomes read-only; the lock of
            // `critical` without a name is on the next one.
            uintptr_t end = (start + part->p_memsz) & -(uintptr_t)PAGE;
            libraries++;
            CHECK(!is_taken[entry(end - PAGE)]);
            CHECK(!is_taken[entry(end)]);
        }
    }
    return 0;
}

int main(void) {
    int sum = more[0], number = 0;
#pragma omp parallel
#pragma omp critical
    sum++;
    CHECK(sum > 1);
    // The program comes first.
    dl_iterate_phdr(look, &number);
    CHECK_EQUAL(libraries, 1);
    return 0;
}
