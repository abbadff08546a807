/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random.h - the pseudo-random numbers of all tests and of the benchmark.
 *
 * Includes nothing of the project.  A generator is one word, which its owner alone
 * writes, so drawing a number neither synchronises threads nor hides a missing
 * synchronisation.  The word is a Weyl sequence finished by a 64-bit mixer (G. Steele,
 * D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
 * Any number is a good seed.
 */
#ifndef CPOOL_TESTS_RANDOM_H
#define CPOOL_TESTS_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bijection of 64-bit words in which every input bit reaches every output bit. */
static inline uint64_t random_mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

static inline uint64_t random_next(uint64_t *generator)
{
    *generator += UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(*generator);
}

/* A number from 0 to bound - 1, without a division.  bound is below 2^32 and not 0. */
static inline size_t random_below(uint64_t *generator, size_t bound)
{
    return (size_t)(((random_next(generator) >> 32) * (uint64_t)bound) >> 32);
}

/* A number from first to last, both included. */
static inline size_t random_between(uint64_t *generator, size_t first, size_t last)
{
    return first + random_below(generator, last - first + 1);
}

/* Returns true once in `times` calls, on average. */
static inline bool random_once_in(uint64_t *generator, size_t times)
{
    return random_below(generator, times) == 0;
}

/* A seed for generator number `number` of a family that was given `seed`. */
static inline uint64_t random_derive(uint64_t seed, uint64_t number)
{
    return random_mix(seed + random_mix(number + 1));
}

#endif /* CPOOL_TESTS_RANDOM_H */
