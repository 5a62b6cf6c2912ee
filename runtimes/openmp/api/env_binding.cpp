// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where threads run: OMP_PROC_BIND and OMP_PLACES; without them GOMP_CPU_AFFINITY and KMP_AFFINITY.
#include "environment.h"

#include <initializer_list>

#include "core/places.h"

namespace hadal::omp {

namespace {

constexpr const char *NAMES[] = {"false", "true", "primary", "close", "spread"};

bool take_bind(Text *text, Bind *bind) {
    for (Bind each : {Bind::Primary, Bind::Close, Bind::Spread}) {
        if (text->take_word(bind_name(each)) || (each == Bind::Primary && text->take_word("master"))) {
            *bind = each;
            return true;
        }
    }
    return false;
}

bool read_list(const char *value) {
    Text text(value);
    bool is_bound;
    if (text.take_bool(&is_bound)) {
        settings.bind_list[0] = is_bound ? Bind::True : Bind::False;
        settings.bind_list_len = 1;
        return text.is_over();
    }
    uint32_t len = 0;
    do {
        if (len == LEVELS_MAX || !take_bind(&text, &settings.bind_list[len])) {
            return false;
        }
        len++;
    } while (text.take(','));
    settings.bind_list_len = len;
    return text.is_over();
}

void bind_all(Bind bind) {
    settings.bind_list[0] = bind;
    settings.bind_list_len = 1;
}

// The part of KMP_AFFINITY in which places are: granularity, and explicit lists of CPUs.
struct KmpAffinity {
    PlaceKind kind = PlaceKind::Cores;
    const char *type = "none";
    char list[256] = {};
};

bool take_granularity(Text *text, PlaceKind *kind) {
    constexpr struct {
        const char *word;
        PlaceKind kind;
    } grains[] = {
        {"fine", PlaceKind::Threads},      {"thread", PlaceKind::Threads}, {"core", PlaceKind::Cores},
        {"tile", PlaceKind::Caches},       {"die", PlaceKind::Caches},     {"node", PlaceKind::NumaDomains},
        {"group", PlaceKind::NumaDomains}, {"socket", PlaceKind::Sockets}, {"package", PlaceKind::Sockets}};
    for (auto [word, meant] : grains) {
        if (text->take_word(word)) {
            *kind = meant;
            return true;
        }
    }
    return false;
}

// A list in brackets of CPUs, or of sets of them in braces, which this does not know.
bool take_list(Text *text, char *list, size_t bytes) {
    const char *begin = text->rest(), *end = strchr(begin, ']');
    if (*begin != '[' || end == nullptr || static_cast<size_t>(end - begin) > bytes) {
        return false;
    }
    size_t len = static_cast<size_t>(end - begin) - 1;
    memcpy(list, begin + 1, len);
    list[len] = '\0';
    *text = Text(end + 1);
    return true;
}

bool read_kmp_affinity(const char *value, KmpAffinity *affinity) {
    Text text(value);
    constexpr const char *modifiers[] = {"verbose", "noverbose", "warnings", "nowarnings",
                                         "respect", "norespect", "reset",    "noreset"};
    constexpr const char *types[] = {"none",     "disabled", "compact", "scatter",
                                     "balanced", "explicit", "logical", "physical"};
    do {
        bool is_known = false;
        for (const char *modifier : modifiers) {
            is_known = is_known || text.take_word(modifier);
        }
        for (const char *type : types) {
            if (!is_known && text.take_word(type)) {
                affinity->type = type;
                is_known = true;
            }
        }
        uint64_t number; // permute and offset, which move threads among the same places
        is_known = is_known || text.take_number(&number);
        if (!is_known && text.take_word("granularity")) {
            is_known = text.take('=') && take_granularity(&text, &affinity->kind);
        } else if (!is_known && text.take_word("proclist")) {
            is_known = text.take('=') && take_list(&text, affinity->list, sizeof affinity->list);
        }
        if (!is_known) {
            return false;
        }
    } while (text.take(','));
    return text.is_over();
}

void bind_by_kmp(const char *value) {
    KmpAffinity affinity;
    if (!read_kmp_affinity(value, &affinity)) {
        bad_value("KMP_AFFINITY", value, "known here", "none");
        return;
    }
    auto is_type = [&](const char *type) { return strcmp(affinity.type, type) == 0; };
    if (is_type("explicit")) {
        if (set_places_by_cpu(affinity.list)) {
            bind_all(Bind::Close);
        } else {
            bad_value("KMP_AFFINITY", value, "known here (proclist has numbers and ranges only)", "none");
        }
    } else if (is_type("compact") || is_type("logical") || is_type("physical")) {
        set_places(affinity.kind, 0);
        bind_all(Bind::Close);
    } else if (is_type("scatter") || is_type("balanced")) {
        set_places(affinity.kind, 0);
        bind_all(Bind::Spread);
    }
}

void read_places() {
    if (const char *value = variable("OMP_PLACES")) {
        if (!set_places(value)) {
            bad_value("OMP_PLACES", value, "a list of places with CPUs of this machine", "cores");
            set_places(PlaceKind::Cores, 0);
        }
    } else if (settings.bind_list[0] != Bind::False) {
        set_places(PlaceKind::Cores, 0);
    }
}

} // namespace

const char *bind_name(Bind bind) { return NAMES[static_cast<uint32_t>(bind)]; }

void read_binding() {
    const char *bind = variable("OMP_PROC_BIND");
    if (bind != nullptr && !read_list(bind)) {
        settings.bind_list_len = 0;
        settings.bind_list[0] = Bind::False;
        bad_value("OMP_PROC_BIND", bind, "true, false, or a list of primary, close and spread", "false");
    } else if (bind == nullptr && variable("OMP_PLACES") != nullptr) {
        // Who names places wants threads to be there.
        bind_all(Bind::True);
    }
    if (bind == nullptr && variable("OMP_PLACES") == nullptr) {
        const char *cpus = variable("GOMP_CPU_AFFINITY"), *kmp = variable("KMP_AFFINITY");
        if (cpus != nullptr) {
            if (set_places_by_cpu(cpus)) {
                bind_all(Bind::True);
            } else {
                bad_value("GOMP_CPU_AFFINITY", cpus, "a list of CPUs of this machine", "none");
            }
        } else if (kmp != nullptr) {
            bind_by_kmp(kmp);
        }
        if (has_subset() && place_count() == 0) {
            set_places(PlaceKind::Cores, 0);
            bind_all(Bind::True);
        }
    } else {
        for (const char *other : {"GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
            if (variable(other) != nullptr) {
                remark("%s has no effect: OMP_PLACES or OMP_PROC_BIND says where threads run", other);
            }
        }
        read_places();
    }
    settings.icvs.bind = settings.bind_list[0];
    if (const char *value = variable("KMP_TEAMS_PROC_BIND")) {
        Text text(value);
        if (!take_bind(&text, &settings.teams_bind) || !text.is_over()) {
            settings.teams_bind = Bind::False;
            bad_value("KMP_TEAMS_PROC_BIND", value, "primary, close or spread", "the default");
        }
    }
}

void read_affinity_format() {
    read_bool("OMP_DISPLAY_AFFINITY", &settings.display_affinity);
    const char *format = variable("OMP_AFFINITY_FORMAT");
    if (format == nullptr) {
        // libomp's, which scripts know.
        format = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";
    }
    if (strlen(format) >= sizeof settings.affinity_format) {
        remark("OMP_AFFINITY_FORMAT has more than %zu characters: the rest is left out",
               sizeof settings.affinity_format - 1);
    }
    strncpy(settings.affinity_format, format, sizeof settings.affinity_format - 1);
}

} // namespace hadal::omp
