// SPDX-License-Identifier: Apache-2.0 OR MIT
// model [NAME]: checks every scenario whose name contains NAME. Ends with 1 if one that should pass fails, or
// one with a seeded fault passes.
#include <chrono>
#include <cstdio>
#include <string>

#include "explorer.hpp"

namespace {

bool check(const model_scenario &scenario) {
    auto begin = std::chrono::steady_clock::now();
    model::Report report = model::explorer().explore(scenario);
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    bool found = !report.failure.empty();
    bool right = scenario.expected == nullptr
                     ? !found && report.complete
                     : found && report.failure.find(scenario.expected) != std::string::npos;
    std::printf("%s %-28s %9llu runs %6.2f s%s%s\n", right ? "ok  " : "FAIL", scenario.name,
                static_cast<unsigned long long>(report.runs), time.count(), found ? "  " : "",
                report.failure.c_str());
    if (!right) {
        std::printf("%s", report.complete ? report.schedule.c_str() : "    too many schedules\n");
        if (scenario.expected != nullptr) {
            std::printf("    expected: %s\n", scenario.expected);
        }
    }
    std::fflush(stdout);
    return right;
}

} // namespace

int main(int argc, char **argv) {
    const std::string filter = argc > 1 ? argv[1] : "";
    bool all_right = true;
    unsigned checked = 0;
    for (const model_scenario *table :
         {model_lock_scenarios, model_wait_scenarios, model_barrier_scenarios, model_task_scenarios,
          model_openmp_scenarios, model_fault_scenarios}) {
        for (; table->name != nullptr; table++) {
            if (std::string(table->name).find(filter) != std::string::npos) {
                all_right = check(*table) && all_right;
                checked++;
            }
        }
    }
    std::printf("%u scenarios checked\n", checked);
    return all_right && checked > 0 ? 0 : 1;
}
