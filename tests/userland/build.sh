#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# A small project: make with several jobs, gcc, ar, a shared library, a test, an error.
for n in 1 2 3 4 5 6; do printf 'int part%d(int x) { return x * %d; }\n' $n $n > part$n.c; done
cat > main.c <<'END'
#include <math.h>
#include <stdio.h>
int part1(int), part2(int), part3(int), part4(int), part5(int), part6(int);
int main(void) {
    printf("%d %.3f\n", part1(1) + part2(1) + part3(1) + part4(1) + part5(1) + part6(1), sqrt(2.0));
    return 4;
}
END
cat > makefile <<'END'
CFLAGS = -O2 -Wall
all: static shared
static: main.o libparts.a
	gcc -o $@ $^ -lm
libparts.a: part1.o part2.o part3.o part4.o part5.o part6.o
	ar rcs $@ $^
shared: main.c libparts.so
	gcc -o $@ main.c -L. -lparts -Wl,-rpath,'$$ORIGIN' -lm
libparts.so: part1.c part2.c part3.c part4.c part5.c part6.c
	gcc -shared -fPIC -o $@ $^
wrong: ; @echo 'int main(void) { return x; }' | gcc -x c - -o wrong
clean: ; rm -f *.o *.a *.so static shared
.PHONY: all clean wrong
END
make -s -j4 2>&1 | grep -v jobserver; ./static; echo "static $?"; ./shared; echo "shared $?"; make -q && echo up to date
touch part3.c; make -n | wc -l; make -s wrong > said 2>&1; echo "wrong $?"; grep -c undeclared said; make clean; ls
nm --version > /dev/null && gcc -c part1.c && nm part1.o && strip part1.o && size -A part1.o | grep -c text; echo 'int f(void) { return 1; }' | gcc -S -o - -x c - | grep -c ret
g++ -O1 -x c++ -o cpp - <<'END' && ./cpp
#include <algorithm>
#include <future>
#include <iostream>
#include <vector>
int main() {
    std::vector<int> v{3, 1, 2};
    std::sort(v.begin(), v.end());
    auto sum = std::async(std::launch::async, [&] { return v[0] + v[1] + v[2]; });
    try { throw 5; } catch (int n) { std::cout << n << ' ' << sum.get() << ' ' << v[2] << '\n'; }
}
END
