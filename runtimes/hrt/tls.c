// SPDX-License-Identifier: Apache-2.0 OR MIT
// The program's own thread-local data, apart from that of libc and the compiler's libraries.
//
// A cached thread keeps its libc alive: malloc's cache, locale, stdio. The program expects its `__thread` and
// `thread_local` variables fresh. In a static program both are in one PT_TLS segment; but the linker lays it
// out in the order of its command line, so what comes before libhrt's own variables is the program's and what
// comes behind is libc's: README.md says how to link. In a dynamic program libc has segments of its own,
// known by the library's name.
//
// Libraries that are loaded by dlopen() have theirs, as a rule, in a block for each thread that uses them,
// which nobody else finds. A thread that has such a block cannot be used again.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "internal.h"

// The borders: one in .tdata, one in .tbss, both from this file.
static __thread uint64_t data_border __attribute__((tls_model("initial-exec"), used)) = 0x4852542d54444154;
__thread struct hrt_local hrt_local;

// A part of a module's segment. Offsets are from the thread pointer: they are the same in every thread, since
// a thread that has just begun (hrt_tls_find) has no other data yet.
struct range {
    const char *module; // the whole segment's image: names the module
    ptrdiff_t start;    // the whole segment's offset
    const char *image;
    ptrdiff_t data;
    size_t data_bytes;
    ptrdiff_t zero;
    size_t zero_bytes;
};

#define RANGES_MAX 32

static struct range ranges[RANGES_MAX];
static size_t range_count;
bool hrt_tls_must_reset;
static uint32_t found; // FOUND_*
enum { FOUND_NOTHING, FOUND_SOON, FOUND_ALL };
static size_t static_bytes;
bool hrt_tls_may_grow = true;
// Libraries that had been loaded and unloaded when all had data that can be reset, or none.
static unsigned long long known_loads, known_unloads;
static bool is_known;

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
    if (range_count == RANGES_MAX) {
        is_known = false;
        return;
    }
    ranges[range_count++] = (struct range){
        .module = (const char *)(module->dlpi_addr + segment->p_vaddr),
        .start = start - thread_pointer(),
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

static const ElfW(Phdr) * thread_local_segment(const struct dl_phdr_info *module) {
    for (size_t i = 0; i < module->dlpi_phnum; i++) {
        if (module->dlpi_phdr[i].p_type == PT_TLS) {
            return &module->dlpi_phdr[i];
        }
    }
    return NULL;
}

// Whether libhrt is part of the module.
static bool is_own(const struct dl_phdr_info *module, const ElfW(Phdr) * segment) {
    return within(&hrt_local, module->dlpi_tls_data, segment->p_memsz);
}

// Whether the module's data must be reset.
static bool is_programs(const struct dl_phdr_info *module, const ElfW(Phdr) * segment) {
    return segment && (is_own(module, segment) || !is_lasting(module->dlpi_name));
}

static int find(struct dl_phdr_info *module, size_t size, void *unused) {
    (void)size, (void)unused;
    const ElfW(Phdr) *segment = thread_local_segment(module);
    known_loads = module->dlpi_adds;
    known_unloads = module->dlpi_subs;
    if (!is_programs(module, segment)) {
        return 0;
    }
    if (!module->dlpi_tls_data) {
        is_known = false;
    } else if (is_own(module, segment)) {
        add_own(module, segment);
    } else {
        const char *start = module->dlpi_tls_data;
        add(module, segment, start, start + segment->p_memsz);
    }
    return 0;
}

static void find_all(void) {
    is_known = true;
    dl_iterate_phdr(find, NULL);
    hrt_tls_must_reset = range_count != 0 || hrt_tls_may_grow;
    __atomic_store_n(&found, FOUND_ALL, __ATOMIC_RELEASE);
}

static int measure(struct dl_phdr_info *module, size_t size, void *unused) {
    (void)size, (void)unused;
    const ElfW(Phdr) *segment = thread_local_segment(module);
    if (segment && module->dlpi_tls_data) {
        static_bytes += segment->p_memsz + segment->p_align;
        // A libhrt that is just being loaded is not found yet, but then there is a libc apart from it, too.
        if (is_own(module, segment) && within(&errno, module->dlpi_tls_data, segment->p_memsz)) {
            hrt_tls_may_grow = false;
        }
    }
    return 0;
}

void hrt_tls_start(void) {
    dl_iterate_phdr(measure, NULL);
    if (!hrt_tls_may_grow) {
        find_all();
    }
}

void hrt_tls_find(void) {
    uint32_t before = FOUND_NOTHING;
    if (__atomic_compare_exchange_n(&found, &before, FOUND_SOON, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        find_all();
        hrt_calls->wake(&found, INT_MAX, HRT_WAKE_KICK);
    }
    while (__atomic_load_n(&found, __ATOMIC_ACQUIRE) != FOUND_ALL) {
        hrt_calls->wait(&found, FOUND_SOON, HRT_FOREVER, HRT_WAIT_NO_INTR);
    }
}

struct look {
    size_t ranges; // that have been met
    bool is_known; // nothing has been loaded or unloaded: there is no need to look
    bool is_more;  // this thread has data that is in no range
};

static int look(struct dl_phdr_info *module, size_t size, void *arg) {
    (void)size;
    struct look *look = arg;
    if (is_known && module->dlpi_adds == known_loads && module->dlpi_subs == known_unloads) {
        look->is_known = true;
        return 1;
    }
    const ElfW(Phdr) *segment = thread_local_segment(module);
    if (!is_programs(module, segment) || !module->dlpi_tls_data) {
        return 0;
    }
    size_t before = look->ranges;
    for (size_t i = 0; i < range_count; i++) {
        look->ranges += ranges[i].module == (const char *)(module->dlpi_addr + segment->p_vaddr) &&
                        ranges[i].start == (char *)module->dlpi_tls_data - thread_pointer();
    }
    look->is_more |= look->ranges == before && !is_own(module, segment);
    return 0;
}

bool hrt_tls_can_reset(void) {
    struct look found_now = {0};
    dl_iterate_phdr(look, &found_now);
    return found_now.is_known || (found_now.ranges == range_count && !found_now.is_more);
}

void hrt_tls_reset(void) {
    char *base = thread_pointer();
    for (size_t i = 0; i < range_count; i++) {
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
