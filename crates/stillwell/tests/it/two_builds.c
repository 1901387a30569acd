/* `mix` does SIZE steps, `same` always 64. */
#include "stillwell.h"

static unsigned mix(unsigned steps) {
    unsigned state = 1;
    for (unsigned i = 0; i < steps; i++) {
        state = state * 1664525u + 1013904223u;
        sw_keep(&state);
    }
    return state;
}

STILLWELL_BENCH(mix) { for (SW_LOOP) { sw_keep(mix(SIZE)); } }
STILLWELL_BENCH(same) { for (SW_LOOP) { sw_keep(mix(64)); } }
STILLWELL_MAIN()
