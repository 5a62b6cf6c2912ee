// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads lists of places: the value of OMP_PLACES (OpenMP 5.2, section 21.1.6), and plain lists of CPUs.
//
//   list     := interval {"," interval}
//   interval := ["!"] place | place ":" length [":" stride]
//   place    := "{" cpus {"," cpus} "}" | number
//   cpus     := ["!"] number | number ":" length [":" stride]
#include "places.h"

#include "team.h"
#include "text.h"

namespace hadal::omp {

namespace {

struct Interval {
    uint64_t length = 1;
    int64_t stride = 1;
};

bool take_interval(Text &text, Interval *interval) {
    *interval = {};
    if (!text.take(':')) {
        return true;
    }
    if (!text.take_number(&interval->length) || interval->length == 0 || interval->length > CPU_SETSIZE) {
        return false;
    }
    return !text.take(':') || (text.take_integer(&interval->stride) && interval->stride > -CPU_SETSIZE &&
                               interval->stride < CPU_SETSIZE);
}

// Sets of CPUs while they are read: numbers that no CPU has count until the end, since a stride may move
// them. CPUs that the process may not use are dropped then.
bool have_dropped;

void add_numbered(cpu_set_t *cpus, int64_t number) {
    if (number >= 0 && number < CPU_SETSIZE && is_usable(static_cast<int>(number))) {
        CPU_SET(static_cast<size_t>(number), cpus);
    } else {
        have_dropped = true;
    }
}

struct Resource {
    int64_t number;
    Interval interval;
    bool is_excluded;
};
constexpr uint32_t RESOURCES_MAX = 256; // in one pair of braces

struct Place {
    Resource resources[RESOURCES_MAX];
    uint32_t count = 0;

    // The same place, `offset` further.
    cpu_set_t cpus(int64_t offset) const {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (uint32_t index = 0; index < count; index++) {
            const Resource &resource = resources[index];
            int64_t number = resource.number + offset;
            if (resource.is_excluded) {
                if (number >= 0 && number < CPU_SETSIZE) {
                    CPU_CLR(static_cast<size_t>(number), &set);
                }
                continue;
            }
            for (uint64_t step = 0; step < resource.interval.length; step++) {
                add_numbered(&set, number + static_cast<int64_t>(step) * resource.interval.stride);
            }
        }
        return set;
    }
};

bool take_resource(Text &text, Place *place) {
    if (place->count == RESOURCES_MAX) {
        return false;
    }
    Resource &resource = place->resources[place->count++];
    resource = {};
    resource.is_excluded = text.take('!');
    uint64_t number;
    if (!text.take_number(&number) || number >= CPU_SETSIZE) {
        return false;
    }
    resource.number = static_cast<int64_t>(number);
    return resource.is_excluded || take_interval(text, &resource.interval);
}

bool take_place(Text &text, Place *place) {
    place->count = 0;
    if (!text.take('{')) {
        // A number stands for the place with that CPU only.
        uint64_t number;
        if (!text.take_number(&number) || number >= CPU_SETSIZE) {
            return false;
        }
        place->resources[place->count++] = {static_cast<int64_t>(number), {}, false};
        return true;
    }
    do {
        if (!take_resource(text, place)) {
            return false;
        }
    } while (text.take(','));
    return text.take('}');
}

// Places while they are read; an exclusion removes one.
class List {
  public:
    bool read(Text text, bool adds) {
        static Place place;
        do {
            bool is_excluded = text.take('!');
            Interval interval;
            if (!take_place(text, &place) || (!is_excluded && !take_interval(text, &interval))) {
                return false;
            }
            for (uint64_t step = 0; adds && step < interval.length; step++) {
                cpu_set_t cpus = place.cpus(static_cast<int64_t>(step) * interval.stride);
                if (is_excluded) {
                    exclude(cpus);
                } else {
                    add_place(cpus);
                }
            }
        } while (text.take(','));
        return text.is_over();
    }

  private:
    static void exclude(const cpu_set_t &cpus) {
        uint32_t count = place_count(), kept = 0;
        static cpu_set_t others[CPU_SETSIZE];
        for (uint32_t place = 0; place < count && kept < CPU_SETSIZE; place++) {
            const cpu_set_t *other = cpus_of_place(static_cast<int32_t>(place));
            if (!CPU_EQUAL(other, &cpus)) {
                others[kept++] = *other;
            }
        }
        clear_places();
        for (uint32_t place = 0; place < kept; place++) {
            add_place(others[place]);
        }
    }
};

struct Name {
    const char *word;
    PlaceKind kind;
};
constexpr Name NAMES[] = {{"threads", PlaceKind::Threads},
                          {"cores", PlaceKind::Cores},
                          {"ll_caches", PlaceKind::Caches},
                          {"numa_domains", PlaceKind::NumaDomains},
                          {"sockets", PlaceKind::Sockets}};

bool finish(const char *what) {
    bool has_places = place_count() > 0;
    if (have_dropped && has_places) {
        warn("%s names CPUs that the program may not use: they are left out", what);
    }
    have_dropped = false;
    return has_places;
}

} // namespace

bool set_places(const char *value) {
    Text text(value);
    for (const Name &name : NAMES) {
        if (!text.take_word(name.word)) {
            continue;
        }
        uint64_t limit = 0;
        if (text.take('(') && (!text.take_number(&limit) || limit == 0 || !text.take(')'))) {
            return false;
        }
        if (!text.is_over()) {
            return false;
        }
        set_places(name.kind, limit > CPU_SETSIZE ? CPU_SETSIZE : static_cast<uint32_t>(limit));
        return true;
    }
    // First everything is read, so that nothing remains of what is wrong further on.
    have_dropped = false;
    if (!List().read(text, false)) {
        return false;
    }
    clear_places();
    List().read(text, true);
    return finish("OMP_PLACES");
}

bool set_places_by_cpu(const char *value) {
    for (int pass = 0; pass < 2; pass++) {
        bool adds = pass == 1;
        Text text(value);
        if (adds) {
            clear_places();
        }
        while (!text.is_over()) {
            uint64_t first, last, stride = 1;
            if (!text.take_number(&first)) {
                return false;
            }
            last = first;
            if (text.take('-') && (!text.take_number(&last) || last < first)) {
                return false;
            }
            if (text.take(':') && (!text.take_number(&stride) || stride == 0)) {
                return false;
            }
            if (last >= CPU_SETSIZE) {
                return false;
            }
            for (uint64_t cpu = first; adds && cpu <= last && stride < CPU_SETSIZE; cpu += stride) {
                cpu_set_t cpus;
                CPU_ZERO(&cpus);
                add_numbered(&cpus, static_cast<int64_t>(cpu));
                add_place(cpus);
            }
            text.take(',');
        }
    }
    return finish("the affinity variable");
}

} // namespace hadal::omp
