// SPDX-License-Identifier: Apache-2.0 OR MIT
// The program's own thread-local data, apart from that of libc and the compiler's libraries.
//
// A cached thread keeps its libc alive: malloc's cache, locale, stdio. The program expects its `__thread` and
// `thread_local` variables fresh. In a static program both are in one PT_TLS segment; but the linker lays it
// out in the order of its command line, so what comes before libhrt's own variables is the program's and what
// comes behind is libc's: README.md says how to link. In a dynamic program libc has segments of its own,
// known by the library's name.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <string.h>

#include "internal.h"

// The borders: one in .tdata, one in .tbss, both from this file.
static __thread uint64_t data_border __attribute__((tls_model("initial-exec"), used)) = 0x4852542d54444154;
__thread struct hrt_local hrt_local;

// Segments of one module. Offsets are from the thread pointer: all modules that are there at start have
// their data at the same offset in every thread.
struct range {
    const char *image;
    ptrdiff_t data;
    size_t data_bytes;
    ptrdiff_t zero;
    size_t zero_bytes;
};

#define RANGES_MAX 32

static struct range ranges[RANGES_MAX];
size_t hrt_tls_range_count;
static size_t static_bytes;

// Libraries whose data lives as long as the thread does. Those that keep caches per thread (allocators) tell
// a thread's end by a pthread key, which a cached thread does not reach.
static const char *const lasting[] = {"libc.",       "ld-",      "libstdc++.", "libgcc_s.",   "libm.",
                                      "libpthread.", "libgomp.", "libomp.",    "libiomp5.",   "libgfortran.",
                                      "libasan.",    "libtsan.", "liblsan.",   "libjemalloc", "libtcmalloc",
                                      "libmimalloc", "libc.musl"};

static bool is_lasting(const char *path) {
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++) {
        if (strncmp(name, lasting[i], strlen(lasting[i])) == 0) {
            return true;
        }
    }
    return false;
}

static char *thread_pointer(void) {
    char *pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

static bool within(const void *address, const char *start, size_t bytes) {
    return (uintptr_t)address - (uintptr_t)start < bytes;
}

// Adds what lies between two addresses of the calling thread's copy of a module's segment.
static void add(const struct dl_phdr_info *module, const ElfW(Phdr) * segment, const void *from,
                const void *to) {
    const char *start = module->dlpi_tls_data, *file_end = start + segment->p_filesz;
    const char *low = from, *high = to, *data_end = high < file_end ? high : file_end;
    const char *zero = low > file_end ? low : file_end;
    if (low >= high) {
        return;
    }
    if (hrt_tls_range_count == RANGES_MAX) {
        hrt_say("libhrt: too many libraries with thread_local data: ", module->dlpi_name,
                " keeps its own from thread to thread\n", NULL);
        return;
    }
    ranges[hrt_tls_range_count++] = (struct range){
        .image = (const char *)(module->dlpi_addr + segment->p_vaddr) + (low - start),
        .data = low - thread_pointer(),
        .data_bytes = low < data_end ? (size_t)(data_end - low) : 0,
        .zero = zero - thread_pointer(),
        .zero_bytes = zero < high ? (size_t)(high - zero) : 0,
    };
}

// The module that libhrt is part of: a program, mostly.
static void add_own(const struct dl_phdr_info *module, const ElfW(Phdr) * segment) {
    const char *start = module->dlpi_tls_data, *file_end = start + segment->p_filesz;
    if (!within(&errno, start, segment->p_memsz)) {
        // libc has a module of its own: all of this is the program's but libhrt's.
        add(module, segment, start, &data_border);
        add(module, segment, &data_border + 1, &hrt_local);
        add(module, segment, &hrt_local + 1, start + segment->p_memsz);
    } else if ((const char *)&errno > (const char *)&hrt_local) {
        add(module, segment, start, &data_border);
        add(module, segment, file_end, &hrt_local);
    } else {
        hrt_say(
            "libhrt: libc comes before libhrt on the linker's command line: thread_local data of the program "
            "will not be reset when a thread is used again\n",
            NULL);
    }
}

static int visit(struct dl_phdr_info *module, size_t size, void *unused) {
    (void)size, (void)unused;
    for (size_t i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &module->dlpi_phdr[i];
        if (segment->p_type == PT_TLS && module->dlpi_tls_data) {
            static_bytes += segment->p_memsz + segment->p_align;
            if (within(&hrt_local, module->dlpi_tls_data, segment->p_memsz)) {
                add_own(module, segment);
            } else if (!is_lasting(module->dlpi_name)) {
                add(module, segment, module->dlpi_tls_data,
                    (const char *)module->dlpi_tls_data + segment->p_memsz);
            }
        }
    }
    return 0;
}

void hrt_tls_find(void) { dl_iterate_phdr(visit, NULL); }

void hrt_tls_reset(void) {
    char *base = thread_pointer();
    for (size_t i = 0; i < hrt_tls_range_count; i++) {
        const struct range *range = &ranges[i];
        if (range->data_bytes) {
            memcpy(base + range->data, range->image, range->data_bytes);
        }
        if (range->zero_bytes) {
            memset(base + range->zero, 0, range->zero_bytes);
        }
    }
}

size_t hrt_tls_stack_bytes(void) {
    // libc's descriptor of a thread, its reserve for libraries loaded later, and a guard page.
    return static_bytes + (16u << 10);
}
