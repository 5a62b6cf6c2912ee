// SPDX-License-Identifier: Apache-2.0 OR MIT
// Adds up an array in halves: the child of each fork does one, its parent the other. The child needs no
// function and no arguments of its own: it has a copy of the frame.
#include <hadal/hrt.h>
#include <stdio.h>

#define COUNT 4096
#define SMALL 512

static int numbers[COUNT];

static long sum(const int *from, long count) {
    if (count <= SMALL) {
        long total = 0;
        for (long i = 0; i < count; i++) {
            total += from[i];
        }
        return total;
    }
    hrt_thread_t child;
    long half = count / 2;
    switch (hrt_thread_fork(NULL, &child)) {
    case HRT_FORK_CHILD:
        return sum(from, half); // to whoever joins
    case HRT_OK: {
        long other = sum(from + half, count - half);
        void *result;
        hrt_thread_join(child, &result);
        return other + (long)result;
    }
    default: // no child: both halves are ours
        return sum(from, half) + sum(from + half, count - half);
    }
}

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i;
    }
    printf("sum %ld\n", sum(numbers, COUNT));
    return 0;
}
