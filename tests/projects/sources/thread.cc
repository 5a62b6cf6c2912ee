// SPDX-License-Identifier: Apache-2.0 OR MIT

#include <iostream>
#include <thread>

int main() {
    int value = 0;
    std::thread([&] { value = 7; }).join();
    std::cout << "value " << value << "\n";
    return value != 7;
}
