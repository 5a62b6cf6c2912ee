// SPDX-License-Identifier: Apache-2.0 OR MIT
// --serve: requests from standard input, each answered before the next one is read.
#include "main.h"

#include <cstdlib>

namespace hadal::vcode {

namespace {

// The cells of a value that later requests may use.
struct Slot {
    char *name;
    Cell *cells;
    uint32_t count;
};

class Server {
  public:
    Server(Machine &machine, const Options &options) : machine(machine), options(options) {}
    ~Server();
    int run();

  private:
    bool read_line();
    bool request(std::string_view rest);
    bool push_inputs(std::string_view words);
    bool keep(std::string_view name, uint32_t count);
    void forget(std::string_view name);
    bool set_print_length(std::string_view digits);
    Slot *find(std::string_view name);

    Machine &machine;
    const Options &options;
    Array<Slot> slots;
    Array<char> line, text;
};

bool complain(const char *problem) {
    fprintf(stderr, "vcode: %s\n", problem);
    return false;
}

std::string_view word(std::string_view &rest) {
    while (!rest.empty() && rest.front() == ' ') {
        rest.remove_prefix(1);
    }
    size_t bytes = rest.find(' ');
    std::string_view first = rest.substr(0, bytes);
    rest.remove_prefix(first.size());
    return first;
}

Server::~Server() {
    while (!slots.empty()) {
        forget(slots.last().name);
    }
}

Slot *Server::find(std::string_view name) {
    for (Slot &slot : slots) {
        if (name == slot.name) {
            return &slot;
        }
    }
    return nullptr;
}

void Server::forget(std::string_view name) {
    if (Slot *slot = find(name)) {
        for (uint32_t index = 0; index < slot->count; index++) {
            release(slot->cells[index]);
        }
        free(slot->cells);
        free(slot->name);
        *slot = slots.last();
        slots.drop_last();
    }
}

bool Server::keep(std::string_view name, uint32_t count) {
    Slot slot{static_cast<char *>(malloc(name.size() + 1)),
              static_cast<Cell *>(malloc(sizeof(Cell) * count + 1)), count};
    if (slot.name == nullptr || slot.cells == nullptr || !slots.add(slot)) {
        free(slot.name);
        free(slot.cells);
        return complain("out of memory");
    }
    memcpy(slot.name, name.data(), name.size());
    slot.name[name.size()] = 0;
    // The new one is the last; an old one of this name is found before it.
    for (uint32_t index = 0; index < count; index++) {
        slot.cells[index] = (machine.top - count)[index];
        retain(slot.cells[index]);
    }
    if (find(name) != &slots.last()) {
        forget(name);
    }
    return true;
}

bool Server::push_inputs(std::string_view words) {
    for (std::string_view name; !(name = word(words)).empty();) {
        Slot *slot = find(name);
        if (slot == nullptr) {
            return complain("a request names a slot that is empty");
        }
        for (uint32_t index = 0; index < slot->count; index++) {
            retain(slot->cells[index]);
            if (!machine.push(slot->cells[index])) {
                return false;
            }
        }
    }
    return true;
}

// length ELEMENTS: how many of a sequence are printed from now on.
bool Server::set_print_length(std::string_view digits) {
    uint32_t length = 0;
    for (char digit : digits) {
        if (digit < '0' || digit > '9' || length > 100000000) {
            return complain("a request is not of the form: length ELEMENTS");
        }
        length = length * 10 + static_cast<uint32_t>(digit - '0');
    }
    machine.print_length = length;
    return !digits.empty() || complain("a request is not of the form: length ELEMENTS");
}

// run BYTES SLOT... > SLOT
bool Server::request(std::string_view rest) {
    std::string_view size = word(rest);
    uint64_t bytes = 0;
    for (char digit : size) {
        if (digit < '0' || digit > '9' || bytes > (uint64_t{1} << 40)) {
            bytes = 0;
            break;
        }
        bytes = bytes * 10 + static_cast<uint64_t>(digit - '0');
    }
    text.clear();
    text.failed = false;
    for (uint64_t index = 0; index < bytes; index++) {
        int letter = getchar();
        if (letter == EOF) {
            return complain("standard input ends within a request");
        }
        text.add(static_cast<char>(letter)); // read to its end, also when there is no memory
    }
    size_t arrow = rest.rfind('>');
    if (text.failed) {
        return complain("out of memory");
    }
    if (bytes == 0 || arrow == std::string_view::npos) {
        return complain("a request is not of the form: run BYTES SLOT... > SLOT");
    }
    std::string_view output = rest.substr(arrow + 1);
    output = word(output);
    machine.random.seed(1);
    machine.program = nullptr;
    uint32_t kept = 0;
    static const Program nameless;
    machine.at = nullptr;
    machine.program = &nameless;
    bool fine = push_inputs(rest.substr(0, arrow)) &&
                run_text(machine, options, {text.begin(), text.size()}, "input", &kept) == 0;
    if (fine && !machine.exited && !output.empty() && output != "-") {
        fine = keep(output, kept);
    }
    machine.drop(machine.depth());
    return fine;
}

bool Server::read_line() {
    line.clear();
    int letter;
    while ((letter = getchar()) != EOF && letter != '\n') {
        line.add(static_cast<char>(letter));
    }
    return letter != EOF || !line.empty();
}

int Server::run() {
    constexpr int END_OF_ANSWER = 0x1e;
    while (read_line()) {
        std::string_view rest(line.begin(), line.size()), command = word(rest);
        if (command.empty()) {
            continue;
        }
        bool fine = true;
        if (command == "run") {
            fine = request(rest);
        } else if (command == "drop") {
            forget(word(rest));
        } else if (command == "length") {
            fine = set_print_length(word(rest));
        } else {
            fine = complain("there is no such request");
        }
        fflush(stderr);
        printf("%c%d\n", END_OF_ANSWER, fine ? 0 : 1);
        fflush(stdout);
    }
    return 0;
}

} // namespace

int serve(Machine &machine, const Options &options) {
    machine.files[0].open = false; // what comes there is not for programs
    return Server(machine, options).run();
}

} // namespace hadal::vcode
