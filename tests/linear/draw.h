/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * draw.h - numbers at random, for the programs of this folder.
 *
 * Includes nothing.  A generator is its state; splitmix64 (S. Vigna).
 */
#ifndef LINEAR_DRAW_H
#define LINEAR_DRAW_H

#include <stdint.h>

/* A number below n, which is not 0. */
static inline unsigned draw(uint64_t *generator, unsigned n)
{
    uint64_t z = *generator += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

#endif /* LINEAR_DRAW_H */
