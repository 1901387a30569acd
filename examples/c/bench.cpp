// Benchmarks in C++11: two ways to build a string, and the capacity that they reserve.
//
//     g++ -std=c++11 -O2 -I../../c bench.cpp -o bench-cpp
#include "stillwell.h"
#include <string>
#include <vector>

namespace {

std::string join(const std::vector<std::string> &words, bool reserve)
{
    std::string all;
    if (reserve) all.reserve(words.size() * 8);
    for (const std::string &word : words) all += word;
    return all;
}

STILLWELL_BENCH(join_growing)
{
    const std::vector<std::string> words(100, "still");
    for (SW_LOOP) sw_keep(join(sw_keep(words), false));
}

// Stillwell sums a counter over all loops, so this adds it once, outside of them.
STILLWELL_BENCH(join_reserved)
{
    const std::vector<std::string> words(100, "well");
    for (SW_LOOP) sw_keep(join(sw_keep(words), true));
    sw_count("capacity", join(words, true).capacity());
}

} // namespace

STILLWELL_MAIN()
