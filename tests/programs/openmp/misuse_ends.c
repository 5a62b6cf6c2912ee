// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Programs that leave regions in ways that OpenMP does not provide for: the first argument says which. Each
// ends with the status, or by the signal, that it would have without OpenMP.

#include "../common/check.h"

#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 4 };

static void at_end(void) {
    int count = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : count)
    count++;
    CHECK(count >= 1);
    puts("atexit");
    fflush(stdout);
}

static void exit_in(void) {
#pragma omp parallel num_threads(THREADS)
#pragma omp single nowait
    exit(3);
}
static void exit_in_worker(void) {
    atexit(at_end);
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() == 1) {
        exit(3);
    }
}
static void exit_in_task(void) {
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp master
        for (int task = 0; task < 100; task++) {
#pragma omp task
            if (task == 50) {
                exit(3);
            }
        }
    }
}
static void exit_in_critical(void) {
    atexit(at_end);
#pragma omp parallel num_threads(THREADS)
#pragma omp critical
    exit(3);
}
static void return_of_main(void) { atexit(at_end); }
static void abort_in(void) {
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() == 2) {
        abort();
    }
}
static void quick_exit_in(void) {
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() == 2) {
        _exit(3);
    }
}

static void *in_thread(void *argument) {
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp atomic
        ++*(int *)argument;
    }
    pthread_exit(NULL);
}
static void thread_exit_after(void) {
    int count = 0;
    for (int turn = 0; turn < 100; turn++) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, in_thread, &count), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
    }
    CHECK_EQUAL(count, 100 * THREADS);
    exit(3);
}
// Thread 0 of the process goes, others go on.
static void *exits(void *argument) {
    int count = 0;
    pthread_join(*(pthread_t *)argument, NULL);
#pragma omp parallel num_threads(THREADS) reduction(+ : count)
    count++;
    CHECK_EQUAL(count, THREADS);
    exit(3);
}
static void main_thread_goes(void) {
    static pthread_t main_thread, thread;
    main_thread = pthread_self();
#pragma omp parallel num_threads(THREADS)
    {}
    CHECK_EQUAL(pthread_create(&thread, NULL, exits, &main_thread), 0);
    pthread_exit(NULL);
}

static void fork_in(void) {
    static int status;
#pragma omp parallel num_threads(THREADS)
#pragma omp master
    {
        pid_t child = fork();
        if (child == 0) {
            // What a child of a process with threads may do.
            _exit(omp_get_thread_num() == 0 && omp_get_num_threads() == THREADS ? 7 : 8);
        }
        CHECK(child > 0);
        CHECK_EQUAL(waitpid(child, &status, 0), child);
    }
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 7);
    exit(3);
}

static volatile sig_atomic_t signals;
static void on_signal(int number) {
    (void)number;
    signals++;
}
static void signals_in(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t threads[THREADS];
    long sum = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    {
        threads[omp_get_thread_num()] = pthread_self();
#pragma omp barrier
        for (int turn = 0; turn < 200; turn++) {
            if (omp_get_thread_num() == 0) {
                pthread_kill(threads[turn % THREADS], SIGUSR1);
                usleep(100);
            }
#pragma omp barrier
            sum++;
        }
    }
    CHECK_EQUAL(sum, 200 * THREADS);
    CHECK(signals > 0);
    exit(3);
}
static int *volatile nowhere = (int *)16;
static void fault_in(void) {
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() == 1) {
        *nowhere = 1;
    }
}

static jmp_buf point;
static void jump_within(void) {
    long count = 0;
    for (int turn = 0; turn < 100; turn++) {
#pragma omp parallel num_threads(THREADS) reduction(+ : count)
        {
            jmp_buf mine;
            if (setjmp(mine) == 0) {
                longjmp(mine, 1);
            }
            count++;
        }
    }
    CHECK_EQUAL(count, 100 * THREADS);
    exit(3);
}
// Not allowed: nothing has to work behind it, but the program has to come to its end.
static void jump_out(void) {
    if (setjmp(point) == 0) {
#pragma omp parallel num_threads(1)
        longjmp(point, 1);
    }
    int count = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : count)
    count++;
    CHECK(count >= 1);
    exit(3);
}
static void jump_out_team(void) {
    if (setjmp(point) == 0) {
#pragma omp parallel num_threads(THREADS)
        if (omp_get_thread_num() == 0)
            longjmp(point, 1);
    }
    int count = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : count)
    count++;
    CHECK(count >= 1);
    exit(3);
}

__attribute__((noinline)) static long deep(int depth) {
    volatile char room[1024];
    room[depth % 1024] = (char)depth;
    return depth == 0 ? room[0] : deep(depth - 1) + room[depth % 7];
}
static void overflow(void) {
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    if (omp_get_thread_num() == 1) {
        sum += deep(1 << 20);
    }
    CHECK(sum > 0);
}

static void uninitialised(void) {
    omp_lock_t lock;
    memset(&lock, 0x5a, sizeof lock);
    omp_set_lock(&lock);
}
static const struct part parts[] = {
    {"exit", exit_in},
    {"exit_in_worker", exit_in_worker},
    {"exit_in_task", exit_in_task},
    {"exit_in_critical", exit_in_critical},
    {"return", return_of_main},
    {"abort", abort_in},
    {"quick_exit", quick_exit_in},
    {"thread_exit", thread_exit_after},
    {"main_thread_goes", main_thread_goes},
    {"fork", fork_in},
    {"signals", signals_in},
    {"fault", fault_in},
    {"jump_within", jump_within},
    {"jump_out", jump_out},
    {"jump_out_team", jump_out_team},
    {"overflow", overflow},
    {"uninitialised", uninitialised},
};

int main(int argc, char **argv) {
    CHECK_EQUAL(argc, 2);
    for (size_t index = 0; index < sizeof parts / sizeof *parts; index++) {
        if (strcmp(argv[1], parts[index].name) == 0) {
            parts[index].run();
            return 0;
        }
    }
    return 98;
}
