// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the kernel tells a program at its start: the auxiliary vector and the shared object of the kernel.

#define _GNU_SOURCE
#include "set.h"

#include <elf.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

extern char **environ;

void part_auxv(void) {
    // The vector lies behind the environment.
    char **end = environ;
    while (*end != NULL) {
        end++;
    }
    const Elf64_auxv_t *vector = (const Elf64_auxv_t *)(const void *)(end + 1);
    int phdr = 0;
    int random = 0;
    for (; vector->a_type != AT_NULL; vector++) {
        phdr |= vector->a_type == AT_PHDR;
        random |= vector->a_type == AT_RANDOM;
    }
    CHECK(phdr && random);
    CHECK_EQUAL(getauxval(AT_PAGESZ), 4096);
    CHECK_EQUAL(getauxval(AT_CLKTCK), 100);
    CHECK_EQUAL(getauxval(AT_UID), getuid());
    CHECK_EQUAL(getauxval(AT_EUID), geteuid());
    CHECK_EQUAL(getauxval(AT_GID), getgid());
    CHECK_EQUAL(getauxval(AT_EGID), getegid());
    CHECK_EQUAL(getauxval(AT_SECURE), 0);
    CHECK_EQUAL(getauxval(AT_PHENT), sizeof(Elf64_Phdr));
    CHECK(getauxval(AT_PHNUM) >= 4);
    CHECK(getauxval(AT_ENTRY) != 0);
    CHECK(getauxval(AT_HWCAP) != 0);
    CHECK(getauxval(AT_MINSIGSTKSZ) >= 1000);
    CHECK_EQUAL(strcmp((const char *)getauxval(AT_PLATFORM), "x86_64"), 0);
    const char *name = (const char *)getauxval(AT_EXECFN);
    CHECK(name != NULL && strstr(name, "system") != NULL);
    const unsigned char *bytes = (const unsigned char *)getauxval(AT_RANDOM);
    int nonzero = 0;
    for (int i = 0; i < 16; i++) {
        nonzero += bytes[i] != 0;
    }
    CHECK(nonzero > 4);
}

// The kernel's own shared object is an ELF file in memory with the functions that libc looks for.
void part_vdso(void) {
    const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
    CHECK(base != NULL);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)base;
    CHECK_EQUAL(memcmp(header->e_ident, ELFMAG, SELFMAG), 0);
    CHECK_EQUAL(header->e_machine, EM_X86_64);
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(const void *)(base + header->e_phoff);
    const Elf64_Dyn *dynamic = NULL;
    uintptr_t slide = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && slide == 0) {
            slide = (uintptr_t)base + segments[i].p_offset - segments[i].p_vaddr;
        } else if (segments[i].p_type == PT_DYNAMIC) {
            dynamic = (const Elf64_Dyn *)(const void *)(base + segments[i].p_offset);
        }
    }
    CHECK(dynamic != NULL);
    const char *strings = NULL;
    const Elf64_Sym *symbols = NULL;
    const Elf64_Word *hash = NULL;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t address = dynamic->d_un.d_ptr + (dynamic->d_un.d_ptr < slide ? slide : 0);
        if (dynamic->d_tag == DT_STRTAB) {
            strings = (const char *)address;
        } else if (dynamic->d_tag == DT_SYMTAB) {
            symbols = (const Elf64_Sym *)address;
        } else if (dynamic->d_tag == DT_HASH) {
            hash = (const Elf64_Word *)address;
        }
    }
    CHECK(strings != NULL && symbols != NULL);
    static const char *const names[] = {"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time",
                                        "__vdso_getcpu"};
    // The hash table tells the number of symbols; without one, the strings follow them.
    size_t count = hash != NULL ? hash[1] : (size_t)(strings - (const char *)symbols) / sizeof *symbols;
    CHECK(count > 0 && count < 1000);
    for (size_t name = 0; name < sizeof names / sizeof names[0]; name++) {
        int found = 0;
        for (size_t i = 0; i < count; i++) {
            if (strcmp(strings + symbols[i].st_name, names[name]) == 0 && symbols[i].st_value != 0) {
                int (*function)(clockid_t, struct timespec *) =
                    (int (*)(clockid_t, struct timespec *))(slide + symbols[i].st_value);
                found = 1;
                if (name == 0) {
                    struct timespec now;
                    struct timespec call;
                    CHECK_EQUAL(function(CLOCK_MONOTONIC, &now), 0);
                    CHECK_EQUAL(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &call), 0);
                    CHECK(call.tv_sec - now.tv_sec <= 1);
                    CHECK_EQUAL(function(CLOCK_REALTIME, &now), 0);
                    CHECK(now.tv_sec > 1600000000);
                }
            }
        }
        printf("  %s: %s\n", names[name], found ? "there" : "missing");
    }
}
