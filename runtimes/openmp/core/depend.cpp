// SPDX-License-Identifier: Apache-2.0 OR MIT
// Dependences between sibling tasks.
//
// Their generator keeps, for each address, the last set of tasks that may run side by side, and the set
// before it: a task of the same kind joins the last set and waits for the one before; any other begins a new
// set and waits for the last one. A set of kind Out has one task. Tasks are represented by nodes, which
// outlive them.
#include "depend.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "ompt/ompt.h"
#include "sync.h"

namespace hadal::omp {

// An address that tasks of a `mutexinoutset` take turns at.
struct TaskMutex {
    uint32_t references;
    hrt_spin_t lock;
    bool is_held;
    Task *waiting; // by Task::next
};

// What others know of a task that has dependences.
struct Successors {
    uint32_t references = 1;
    hrt_spin_t lock = HRT_SPIN_INIT;
    Task *task = nullptr; // while it has not ended
    bool has_ended = false;
    Task **waiting = nullptr;
    uint32_t waiting_count = 0, waiting_capacity = 0;
    TaskMutex **mutexes = nullptr; // of the task
    uint32_t mutex_count = 0;
};

namespace {

[[noreturn]] void out_of_memory() { fatal("there is no memory for the dependences of a task"); }

template <typename Item> void append(Item *&items, uint32_t &count, uint32_t &capacity, Item item) {
    if (count == capacity) {
        capacity = capacity == 0 ? 4 : 2 * capacity;
        items = static_cast<Item *>(realloc(items, capacity * sizeof(Item)));
        if (items == nullptr) {
            out_of_memory();
        }
    }
    items[count++] = item;
}

void release_mutex(TaskMutex *mutex) {
    if (HRT_FETCH_SUB(&mutex->references, 1, HRT_ACQ_REL) == 1) {
        free(mutex);
    }
}

void release_node(Successors *node) {
    if (HRT_FETCH_SUB(&node->references, 1, HRT_ACQ_REL) != 1) {
        return;
    }
    for (uint32_t index = 0; index < node->mutex_count; index++) {
        release_mutex(node->mutexes[index]);
    }
    free(node->mutexes);
    free(node->waiting);
    free(node);
}

// Tasks that may run side by side.
struct Set {
    Successors **nodes = nullptr;
    uint32_t count = 0, capacity = 0;

    // Those that have ended matter to nobody.
    void forget_ended() {
        uint32_t kept = 0;
        for (uint32_t index = 0; index < count; index++) {
            if (HRT_LOAD(&nodes[index]->has_ended, HRT_ACQUIRE)) {
                release_node(nodes[index]);
            } else {
                nodes[kept++] = nodes[index];
            }
        }
        count = kept;
    }
    void add(Successors *node) {
        if (count > 0 && nodes[count - 1] == node) {
            return;
        }
        if (count == capacity) {
            forget_ended();
        }
        HRT_FETCH_ADD(&node->references, 1, HRT_RELAXED);
        append(nodes, count, capacity, node);
    }
    void clear() {
        for (uint32_t index = 0; index < count; index++) {
            release_node(nodes[index]);
        }
        count = 0;
    }
};

struct Entry {
    Entry *next; // of the same bucket
    uintptr_t address;
    DependKind kind;
    Set last, before;
    TaskMutex *mutex;
};

// A predecessor: `task` must not begin before it has ended.
void wait_for(Task &task, Successors *node) {
    if (node == task.successors || HRT_LOAD(&node->has_ended, HRT_ACQUIRE)) {
        return;
    }
    hrt_spin_lock(&node->lock);
    if (!node->has_ended) {
        HRT_FETCH_ADD(&task.blockers, 1, HRT_RELAXED);
        append(node->waiting, node->waiting_count, node->waiting_capacity, &task);
        if (ompt::is_on()) {
            ompt::dependence_pair(*node->task, task);
        }
    }
    hrt_spin_unlock(&node->lock);
}

void wait_for_all(Task &task, const Set &set) {
    for (uint32_t index = 0; index < set.count; index++) {
        wait_for(task, set.nodes[index]);
    }
}

} // namespace

// Of one generating task: entries by address.
struct Dependences {
    Entry **buckets = nullptr;
    uint32_t bucket_count = 0, entry_count = 0;
    Successors *all_memory = nullptr; // the last task that depends on everything
};

namespace {

constexpr uint32_t FIRST_BUCKETS = 32;

uint32_t bucket_of(const Dependences &dependences, uintptr_t address) {
    return static_cast<uint32_t>((address >> 3) * 0x9e3779b97f4a7c15ull >> 32) &
           (dependences.bucket_count - 1);
}

void grow(Dependences &dependences) {
    uint32_t old_count = dependences.bucket_count;
    Entry **old = dependences.buckets;
    dependences.bucket_count = old_count == 0 ? FIRST_BUCKETS : 4 * old_count;
    dependences.buckets = static_cast<Entry **>(calloc(dependences.bucket_count, sizeof(Entry *)));
    if (dependences.buckets == nullptr) {
        out_of_memory();
    }
    for (uint32_t bucket = 0; bucket < old_count; bucket++) {
        while (Entry *entry = old[bucket]) {
            old[bucket] = entry->next;
            Entry *&head = dependences.buckets[bucket_of(dependences, entry->address)];
            entry->next = head;
            head = entry;
        }
    }
    free(old);
}

Entry &entry_of(Dependences &dependences, uintptr_t address) {
    if (dependences.entry_count >= 2 * dependences.bucket_count) {
        grow(dependences);
    }
    Entry *&head = dependences.buckets[bucket_of(dependences, address)];
    for (Entry *entry = head; entry != nullptr; entry = entry->next) {
        if (entry->address == address) {
            return *entry;
        }
    }
    void *memory = malloc(sizeof(Entry));
    if (memory == nullptr) {
        out_of_memory();
    }
    head = ::new (memory) Entry{head, address, DependKind::Out, {}, {}, nullptr};
    dependences.entry_count++;
    if (dependences.all_memory != nullptr) {
        head->last.add(dependences.all_memory);
    }
    return *head;
}

// The task begins a new set, or joins the last one.
void enter(Entry &entry, Task &task, DependKind kind) {
    if (kind == DependKind::Out || kind != entry.kind || entry.last.count == 0) {
        entry.before.clear();
        Set emptied = entry.before;
        entry.before = entry.last;
        entry.last = emptied;
        entry.kind = kind;
    }
    wait_for_all(task, entry.before);
    entry.last.add(task.successors);
}

void add_mutex(Entry &entry, Successors &node) {
    if (entry.mutex == nullptr) {
        entry.mutex = static_cast<TaskMutex *>(calloc(1, sizeof(TaskMutex)));
        if (entry.mutex == nullptr) {
            out_of_memory();
        }
        entry.mutex->references = 1;
    }
    for (uint32_t index = 0; index < node.mutex_count; index++) {
        if (node.mutexes[index] == entry.mutex) {
            return;
        }
    }
    HRT_FETCH_ADD(&entry.mutex->references, 1, HRT_RELAXED);
    uint32_t capacity = node.mutex_count;
    append(node.mutexes, node.mutex_count, capacity, entry.mutex);
}

void enter_all(Dependences &dependences, Task &task) {
    for (uint32_t bucket = 0; bucket < dependences.bucket_count; bucket++) {
        for (Entry *entry = dependences.buckets[bucket]; entry != nullptr; entry = entry->next) {
            enter(*entry, task, DependKind::Out);
        }
    }
    if (dependences.all_memory != nullptr) {
        wait_for(task, dependences.all_memory);
        release_node(dependences.all_memory);
    }
    HRT_FETCH_ADD(&task.successors->references, 1, HRT_RELAXED);
    dependences.all_memory = task.successors;
}

// The tasks behind which one that depends on everything would begin; not those without dependences.
void wait_for_everything(Task &task, const Dependences &dependences) {
    for (uint32_t bucket = 0; bucket < dependences.bucket_count; bucket++) {
        for (const Entry *entry = dependences.buckets[bucket]; entry != nullptr; entry = entry->next) {
            wait_for_all(task, entry->last);
        }
    }
    if (dependences.all_memory != nullptr) {
        wait_for(task, dependences.all_memory);
    }
}

Dependences &dependences_of(Task &generator) {
    if (generator.dependences == nullptr) {
        void *memory = malloc(sizeof(Dependences));
        if (memory == nullptr) {
            out_of_memory();
        }
        generator.dependences = ::new (memory) Dependences;
        grow(*generator.dependences);
        // They are freed at the end of the region, at the latest.
        note_tasks(*generator.runner);
    }
    return *generator.dependences;
}

// One of the things that a task waits for has happened.
void unblock(Member &me, Task &task) {
    if (task.is_included) {
        // The stand-in of a thread in taskwait_dependent, which is gone when it sees zero.
        Member *waiter = task.runner;
        if (HRT_FETCH_SUB(&task.blockers, 1, HRT_SEQ_CST) == 1) {
            notify(*waiter->team, *waiter);
        }
    } else if (HRT_FETCH_SUB(&task.blockers, 1, HRT_ACQ_REL) == 1) {
        task_make_ready(me, task);
    }
}

} // namespace

// Tasks that wait for others are in no queue whose end would hold up their generator. When many of them have
// not ended, it runs some itself: what generates faster than others run needs no more and more memory. Where
// none can run, it goes on: it may be the one that fulfills the event which they wait for.
static void help_if_many(Member &me) {
    constexpr uint64_t MANY_CHILDREN = 4096;
    if (HRT_LIKELY((HRT_LOAD(&me.task->counts, HRT_RELAXED) & UINT32_MAX) <= MANY_CHILDREN) ||
        settings.many_tasks == NEVER_MANY) {
        return;
    }
    while ((HRT_LOAD(&me.task->counts, HRT_RELAXED) & UINT32_MAX) > MANY_CHILDREN && task_run_one(me)) {
    }
}

void task_submit_dependent(Member &me, Task &task, const Dependence *list, uint32_t count) {
    Dependences &dependences = dependences_of(*task.parent);
    void *memory = malloc(sizeof(Successors));
    if (memory == nullptr) {
        out_of_memory();
    }
    task.successors = ::new (memory) Successors;
    task.successors->task = &task;
    task.blockers = 1; // until all are known
    if (ompt::is_on()) {
        ompt::dependences(task, list, count);
    }
    task_count(me, task);
    for (uint32_t index = 0; index < count; index++) {
        if (list[index].kind == DependKind::AllMemory) {
            enter_all(dependences, task);
            continue;
        }
        Entry &entry = entry_of(dependences, list[index].address);
        if (list[index].kind == DependKind::MutexInOutSet) {
            add_mutex(entry, *task.successors);
            task.needs_mutexes = true;
        }
        enter(entry, task, list[index].kind);
    }
    unblock(me, task);
    help_if_many(me);
}

static void wait_dependent(Member &me, const Dependence *list, uint32_t count) {
    if (me.task->dependences == nullptr) {
        return;
    }
    Dependences &dependences = *me.task->dependences;
    Task stand_in;
    stand_in.is_included = true;
    stand_in.runner = &me;
    stand_in.blockers = 1;
    for (uint32_t index = 0; index < count; index++) {
        if (list[index].kind == DependKind::AllMemory) {
            wait_for_everything(stand_in, dependences);
            continue;
        }
        Entry &entry = entry_of(dependences, list[index].address);
        bool joins = list[index].kind == entry.kind && entry.kind != DependKind::Out;
        wait_for_all(stand_in, joins ? entry.before : entry.last);
    }
    HRT_FETCH_SUB(&stand_in.blockers, 1, HRT_ACQ_REL);
    await_with_tasks(me, [&] { return HRT_LOAD(&stand_in.blockers, HRT_ACQUIRE) == 0; });
}

void taskwait_dependent(Member &me, const Dependence *list, uint32_t count) {
    if (ompt::is_on()) {
        ompt::WaitingTask task(me);
        ompt::dependences(task.tool, list, count);
        wait_dependent(me, list, count);
        return;
    }
    wait_dependent(me, list, count);
}

void dependences_free(Task &task) {
    Dependences *dependences = task.dependences;
    for (uint32_t bucket = 0; bucket < dependences->bucket_count; bucket++) {
        while (Entry *entry = dependences->buckets[bucket]) {
            dependences->buckets[bucket] = entry->next;
            entry->last.clear();
            entry->before.clear();
            free(entry->last.nodes);
            free(entry->before.nodes);
            if (entry->mutex != nullptr) {
                release_mutex(entry->mutex);
            }
            free(entry);
        }
    }
    if (dependences->all_memory != nullptr) {
        release_node(dependences->all_memory);
    }
    free(dependences->buckets);
    free(dependences);
    task.dependences = nullptr;
}

void successors_release(Member &me, Task &task) {
    Successors *node = task.successors;
    hrt_spin_lock(&node->lock);
    HRT_STORE(&node->has_ended, true, HRT_RELEASE);
    hrt_spin_unlock(&node->lock);
    // Nobody adds to the list any more.
    for (uint32_t index = 0; index < node->waiting_count; index++) {
        unblock(me, *node->waiting[index]);
    }
    task.successors = nullptr;
    release_node(node);
}

// Gives back the first `count` mutexes of a task, and makes those ready that waited for them.
static void give(Member &me, Successors &node, uint32_t count) {
    for (uint32_t index = 0; index < count; index++) {
        TaskMutex &mutex = *node.mutexes[index];
        hrt_spin_lock(&mutex.lock);
        mutex.is_held = false;
        Task *next = mutex.waiting;
        if (next != nullptr) {
            mutex.waiting = next->next;
        }
        hrt_spin_unlock(&mutex.lock);
        if (next != nullptr) {
            task_make_ready(me, *next);
        }
    }
}

bool mutexes_take(Member &me, Task &task) {
    Successors &node = *task.successors;
    for (uint32_t index = 0; index < node.mutex_count; index++) {
        TaskMutex &mutex = *node.mutexes[index];
        hrt_spin_lock(&mutex.lock);
        bool is_held = mutex.is_held;
        if (is_held) {
            task.next = mutex.waiting;
            mutex.waiting = &task;
        } else {
            mutex.is_held = true;
        }
        hrt_spin_unlock(&mutex.lock);
        if (is_held) {
            // While the task waits it keeps none. It cannot end before the last of these is given back.
            give(me, node, index);
            return false;
        }
    }
    return true;
}

void mutexes_give(Member &me, Task &task) { give(me, *task.successors, task.successors->mutex_count); }

} // namespace hadal::omp
