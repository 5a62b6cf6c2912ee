// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What C++ asks of its system beyond threads: order of constructors and destructors, streams, files,
// exceptions and run-time types, locale-free formatting, and termination handlers.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace {

struct Announced {
    const char *name;
    explicit Announced(const char *text) : name(text) { std::printf("constructed %s\n", name); }
    ~Announced() { std::printf("destroyed %s\n", name); }
    Announced(const Announced &) = delete;
    Announced &operator=(const Announced &) = delete;
};

Announced first("first global");
Announced second("second global");

Announced &lazy() {
    static Announced object("function static");
    return object;
}

__attribute__((constructor)) void before_main() { std::printf("before main\n"); }

__attribute__((destructor)) void after_main() { std::printf("after main\n"); }

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square : Shape {
    double side;
    explicit Square(double length) : side(length) {}
    double area() const override { return side * side; }
};

struct Disc : Shape {
    double area() const override { return 3.0; }
};

int unwind(int depth, std::vector<int> &order) {
    struct Mark {
        std::vector<int> &order;
        int depth;
        ~Mark() { order.push_back(depth); }
    } mark{order, depth};
    if (depth == 0) {
        throw std::logic_error("bottom");
    }
    return unwind(depth - 1, order) + 1;
}

void exceptions() {
    std::vector<int> order;
    try {
        unwind(100, order);
    } catch (const std::exception &error) {
        std::cout << "caught " << error.what() << " after " << order.size() << " frames, first "
                  << order.front() << ", last " << order.back() << '\n';
    }
    try {
        try {
            throw 5;
        } catch (int value) {
            std::throw_with_nested(std::runtime_error("outer " + std::to_string(value)));
        }
    } catch (const std::runtime_error &outer) {
        std::cout << "nested in " << outer.what() << '\n';
    }
    try {
        std::vector<int> huge;
        huge.reserve(huge.max_size());
    } catch (const std::bad_alloc &) {
        std::cout << "bad_alloc\n";
    } catch (const std::length_error &) {
        std::cout << "length_error\n";
    }
}

void types() {
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Square>(1.5));
    shapes.push_back(std::make_unique<Disc>());
    for (const auto &shape : shapes) {
        std::cout << (dynamic_cast<const Square *>(shape.get()) != nullptr ? "square " : "other ")
                  << std::fixed << std::setprecision(3) << shape->area() << '\n';
    }
    std::cout << std::boolalpha << (typeid(*shapes[0]) == typeid(Square)) << '\n';
}

void streams() {
    std::filesystem::create_directories("cpp-dir/sub");
    {
        std::ofstream out("cpp-dir/sub/numbers.txt");
        for (int i = 0; i < 1000; i++) {
            out << i * 3 << ' ' << std::hex << i << std::dec << '\n';
        }
    }
    std::ifstream in("cpp-dir/sub/numbers.txt");
    long sum = 0;
    long lines = 0;
    for (std::string line; std::getline(in, line); lines++) {
        std::istringstream words(line);
        long value = 0;
        words >> value;
        sum += value;
    }
    std::cout << lines << " lines, sum " << sum << ", size "
              << std::filesystem::file_size("cpp-dir/sub/numbers.txt") << '\n';
    std::cout << "removed " << std::filesystem::remove_all("cpp-dir") << '\n';
    std::ifstream missing("cpp-dir/none");
    std::cout << "missing file opens: " << missing.is_open() << '\n';
    std::cerr << "this line is on standard error\n";
}

void containers() {
    std::unordered_map<std::string, int> words;
    for (int i = 0; i < 20000; i++) {
        words["word" + std::to_string(i % 777)] += i;
    }
    std::cout << words.size() << " words, " << words["word5"] << '\n';
}

} // namespace

int main() {
    std::atexit([] { std::printf("at exit\n"); });
    lazy();
    exceptions();
    types();
    streams();
    containers();
    std::cout << std::flush;
    return 7;
}
