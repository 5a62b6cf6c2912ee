// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Leagues of teams on the host, and distribute.

#include "../common/check.h"

#include <omp.h>

static int visits[1000];

static void expect(int count) {
    for (int i = 0; i < 1000; i++) {
        CHECK_EQUAL(visits[i], i < count);
        visits[i] = 0;
    }
}

static void visit(int i) {
#pragma omp atomic
    visits[i]++;
}

static void league(void) {
    int teams = 0, seen = 0;
#pragma omp teams num_teams(5) thread_limit(3) reduction(+ : teams) reduction(| : seen)
    {
        teams += 1;
        CHECK(omp_get_team_num() >= 0 && omp_get_team_num() < omp_get_num_teams());
        CHECK_EQUAL(omp_get_thread_limit(), 3);
        CHECK_EQUAL(omp_get_level(), 0);
        CHECK_EQUAL(omp_get_num_threads(), 1);
        seen |= 1 << omp_get_team_num();
        int team = omp_get_team_num(), members = 0;
#pragma omp parallel reduction(+ : members)
        {
            members++;
            CHECK_EQUAL(omp_get_team_num(), team);
            CHECK(omp_get_num_threads() <= 3);
        }
        CHECK(members <= 3);
    }
    CHECK(teams >= 1 && teams <= 5);
    CHECK_EQUAL(seen, (1 << teams) - 1);
    CHECK_EQUAL(omp_get_num_teams(), 1);
    CHECK(omp_get_thread_limit() > 3);
}

static void distribute(void) {
#pragma omp teams num_teams(3)
#pragma omp distribute
    for (int i = 0; i < 100; i++) {
        visit(i);
    }
    expect(100);
#pragma omp teams distribute num_teams(4) dist_schedule(static, 3)
    for (int i = 0; i < 100; i++) {
        visit(i);
    }
    expect(100);
#pragma omp teams distribute parallel for num_teams(3) num_threads(2)
    for (int i = 99; i >= 0; i--) {
        visit(i);
    }
    expect(100);
#pragma omp teams distribute parallel for dist_schedule(static, 7) schedule(dynamic, 2) collapse(2)
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 10; j++) {
            visit(10 * i + j);
        }
    }
    expect(100);
    int last = 0;
    long sum = 0;
#pragma omp teams distribute parallel for num_teams(3) lastprivate(last) reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        last = i;
        sum += i;
    }
    CHECK_EQUAL(last, 99);
    CHECK_EQUAL(sum, 4950);
}

static void on_host(void) {
    int x = 1;
#pragma omp target map(tofrom : x)
    {
        x++;
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            x++;
        }
    }
#pragma omp target teams distribute parallel for map(tofrom : x) num_teams(2)
    for (int i = 0; i < 10; i++) {
#pragma omp atomic
        x++;
    }
    CHECK_EQUAL(x, 14);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"league", league}, {"distribute", distribute}, {"on host", on_host}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
