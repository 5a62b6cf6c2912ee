// SPDX-License-Identifier: Apache-2.0 OR MIT
// The threads of the gang start with the first large operation. Between operations they spin for a moment,
// then wait for a Nemo event on their CPU.
//
// Each member has a range of an operation's indices, takes them one by one, and then helps the others. A
// thread that comes late finds nothing to do, and nobody waits for it: the interpreter only waits for those
// that are inside when no index is left.
#include "gang.h"

namespace hadal::vcode {

namespace {

constexpr uint32_t MEMBERS_MAX = 256;
constexpr uint64_t SPIN_NS = 30000;   // how long a thread spins before it sleeps
constexpr uint32_t JOIN_SPINS = 4000; // how often the interpreter looks before it sleeps

struct alignas(HRT_CACHE_LINE) Range {
    uint64_t next, end;
};

struct alignas(HRT_CACHE_LINE) Job {
    void (*body)(void *context, uint64_t index, uint32_t member);
    void *context;
};

// From so many items on sharing pays; the least while it is not known how many CPUs there are. With two, a
// bitonic sort of 65,536 numbers on Linux takes 18 ms, and 30 ms without sharing the vectors below 65536.
// Whoever has more threads to wake needs more work for it.
constexpr uint64_t ITEMS_EACH = 8192, ITEMS_LEAST = 16384, ITEMS_MOST = 65536;
uint64_t shared_items = ITEMS_LEAST;
bool items_given;         // by the program's user
uint32_t wanted, members; // members: 0 before the gang has started
bool may_spin;
uint32_t event;
bool event_registered;
hrt_thread_t threads[MEMBERS_MAX];
uint64_t cpus[64]; // those of the threads
Range ranges[MEMBERS_MAX];
Job job;
alignas(HRT_CACHE_LINE) uint64_t generation; // of jobs
alignas(HRT_CACHE_LINE) bool open_job;       // the job may be entered
alignas(HRT_CACHE_LINE) uint32_t inside;     // threads that look at the job
uint32_t joiner_sleeps;
alignas(HRT_CACHE_LINE) uint32_t sleepers;
uint32_t ending;

void work(uint32_t self) {
    for (uint32_t turn = 0; turn < members; turn++) {
        Range &range = ranges[(self + turn) % members];
        while (HRT_LOAD(&range.next, HRT_RELAXED) < range.end) {
            uint64_t index = HRT_FETCH_ADD(&range.next, 1, HRT_RELAXED);
            if (index >= range.end) {
                break;
            }
            job.body(job.context, index, self);
        }
    }
}

void enter(uint32_t self) {
    HRT_FETCH_ADD(&inside, 1, HRT_SEQ_CST);
    if (HRT_LOAD(&open_job, HRT_SEQ_CST)) {
        work(self);
    }
    if (HRT_FETCH_SUB(&inside, 1, HRT_SEQ_CST) == 1 && HRT_LOAD(&joiner_sleeps, HRT_SEQ_CST) != 0) {
        hrt_wake(&inside, 1, 0);
    }
}

// Waits for a job after this one; gives its generation.
uint64_t await_job(uint64_t seen, uint64_t &arrivals) {
    uint64_t until = may_spin ? hrt_now_ns() + SPIN_NS : 0;
    for (;;) {
        for (uint32_t spins = 0; spins < 64; spins++) {
            uint64_t now = HRT_LOAD(&generation, HRT_ACQUIRE);
            if (now != seen) {
                return now;
            }
            HRT_PAUSE();
        }
        if (hrt_now_ns() < until) {
            continue;
        }
        HRT_FETCH_ADD(&sleepers, 1, HRT_SEQ_CST);
        if (HRT_LOAD(&generation, HRT_SEQ_CST) == seen) {
            hrt_event_wait(event, &arrivals, HRT_FOREVER);
        }
        HRT_FETCH_SUB(&sleepers, 1, HRT_SEQ_CST);
        until = 0;
    }
}

void *thread_main(void *argument) {
    uint32_t self = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(argument));
    uint64_t seen = 0, arrivals = 0;
    hrt_event_wait(event, &arrivals, 0);
    while (HRT_LOAD(&ending, HRT_ACQUIRE) == 0) {
        enter(self);
        seen = await_job(seen, arrivals);
    }
    return nullptr;
}

void announce() {
    HRT_FETCH_ADD(&generation, 1, HRT_SEQ_CST);
    if (HRT_LOAD(&sleepers, HRT_SEQ_CST) != 0) {
        hrt_event_notify_set(event, cpus, (hrt_cpu_count() + 63) / 64);
    }
}

uint32_t most_members() {
    uint32_t all = wanted == 0 ? hrt_cpu_count() : wanted;
    return all < MEMBERS_MAX ? all : MEMBERS_MAX;
}

uint64_t items_for(uint32_t count) {
    uint64_t items = ITEMS_EACH * count;
    return items < ITEMS_LEAST ? ITEMS_LEAST : items < ITEMS_MOST ? items : ITEMS_MOST;
}

// For an operation on so many items, if that pays. Threads that cannot be had only make the gang smaller.
[[gnu::noinline]] uint32_t start(uint64_t items) {
    uint32_t count = hrt_cpu_count(), all = most_members();
    if (!items_given) {
        shared_items = items_for(all);
    }
    if (items < shared_items) {
        return 1;
    }
    members = 1;
    if (all < 2 || count > sizeof cpus * 8 || hrt_event_register(nullptr, nullptr, 0, &event) != HRT_OK) {
        return members;
    }
    event_registered = true;
    may_spin = all <= hrt_core_count();
    uint32_t home = hrt_cpu_self();
    hrt_thread_bind(hrt_thread_self(), static_cast<int32_t>(home));
    for (uint32_t self = 1; self < all; self++) {
        struct hrt_thread_attr attributes;
        hrt_thread_attr_init(&attributes);
        uint32_t cpu = (home + self) % count;
        attributes.cpu = static_cast<int32_t>(cpu);
        attributes.name = "vcode";
        if (hrt_thread_create(&threads[members], &attributes, thread_main,
                              reinterpret_cast<void *>(static_cast<uintptr_t>(members))) != HRT_OK) {
            break;
        }
        cpus[cpu / 64] |= uint64_t{1} << cpu % 64;
        members++;
    }
    return members;
}

} // namespace

void gang_size(uint32_t count, uint64_t items) {
    wanted = count;
    items_given = items != 0;
    shared_items = items_given ? items : ITEMS_LEAST;
}

uint32_t gang_for(uint64_t items) {
    if (HRT_LIKELY(items < shared_items)) {
        return 1;
    }
    return HRT_LIKELY(members != 0) ? members : start(items);
}

void gang_run(uint64_t count, void (*body)(void *context, uint64_t index, uint32_t member), void *context) {
    job.body = body;
    job.context = context;
    for (uint32_t member = 0; member < members; member++) {
        ranges[member].end = count * (member + 1) / members;
        HRT_STORE(&ranges[member].next, count * member / members, HRT_RELAXED);
    }
    HRT_STORE(&open_job, true, HRT_SEQ_CST);
    announce();
    work(0);
    HRT_STORE(&open_job, false, HRT_SEQ_CST);
    uint32_t spins = 0;
    for (uint32_t left; (left = HRT_LOAD(&inside, HRT_SEQ_CST)) != 0; spins++) {
        if (spins < JOIN_SPINS) {
            HRT_PAUSE();
            continue;
        }
        HRT_STORE(&joiner_sleeps, 1, HRT_SEQ_CST);
        left = HRT_LOAD(&inside, HRT_SEQ_CST);
        if (left != 0) {
            hrt_wait(&inside, left, HRT_FOREVER, 0);
        }
        HRT_STORE(&joiner_sleeps, 0, HRT_RELAXED);
    }
}

void gang_end() {
    HRT_STORE(&ending, 1, HRT_RELEASE);
    if (members > 1) {
        announce();
        for (uint32_t member = 1; member < members; member++) {
            hrt_thread_join(threads[member], nullptr);
        }
    }
    if (event_registered) {
        hrt_event_unregister(event);
        event_registered = false;
    }
    members = 0;
    HRT_STORE(&ending, 0, HRT_RELEASE);
}

} // namespace hadal::vcode
