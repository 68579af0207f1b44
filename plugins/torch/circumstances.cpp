/* SPDX-License-Identifier: Apache-2.0 */
/* The processor as Linux tells of it: Inductor builds for what that can do. */
#include "circumstances.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

extern char **environ;

namespace assay_torch {

static bool begins_with(const std::string &line, const char *word) {
    return line.rfind(word, 0) == 0;
}

/* Of the first processor. Its clock, and bugs that a newer kernel knows of, are no part of what it is. */
static std::string processor() {
    static const char *const told[] = {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU implementer", "CPU part", "Features"};
    std::ifstream file("/proc/cpuinfo");
    std::string line, all;
    while (std::getline(file, line) && !line.empty()) {
        if (std::any_of(std::begin(told), std::end(told), [&](const char *word) { return begins_with(line, word); })) {
            all += line + "\n";
        }
    }
    return all;
}

std::string circumstances() {
    std::vector<std::string> set;
    for (char **at = environ; *at != nullptr; at++) {
        if (begins_with(*at, "TORCHINDUCTOR_")) {
            set.push_back(*at);
        }
    }
    std::sort(set.begin(), set.end());
    const char *cxx = std::getenv("CXX");
    std::string all = processor() + "CXX=" + (cxx != nullptr ? cxx : "") + "\n";
    for (const std::string &one : set) {
        all += one + "\n";
    }
    return all;
}

} // namespace assay_torch
