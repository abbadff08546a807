/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random.h - the pseudo-random numbers of the stress program.
 *
 * Includes nothing of the project.  One generator per thread, so that drawing a
 * number neither synchronises threads nor hides a missing synchronisation: a
 * Weyl sequence finished by a 64-bit mixer (G. Steele, D. Lea, C. Flood, "Fast
 * splittable pseudorandom number generators", OOPSLA 2014).
 */
#ifndef STRESS_RANDOM_H
#define STRESS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state; /* written by its owner alone */
};

/* A bijection of 64-bit words in which every input bit reaches every output bit. */
static inline uint64_t random_mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static inline uint64_t random_next(struct random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(random->state);
}

/* A number from 0 to bound - 1; bound is not 0. */
static inline size_t random_below(struct random *random, size_t bound)
{
    return (size_t)(random_next(random) % bound);
}

/* A number from first to last, both included. */
static inline size_t random_between(struct random *random, size_t first, size_t last)
{
    return first + random_below(random, last - first + 1);
}

/* True once in `times` calls, on average. */
static inline bool random_once_in(struct random *random, size_t times)
{
    return random_below(random, times) == 0;
}

/* A seed for generator number `number` of a family that was given `seed`. */
static inline uint64_t random_derive(uint64_t seed, uint64_t number)
{
    return random_mix(seed + random_mix(number + 1));
}

#endif /* STRESS_RANDOM_H */
