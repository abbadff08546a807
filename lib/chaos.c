/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chaos.c - what the chance decides.
 *
 * The generator is splitmix64 (G. L. Steele, D. Lea and C. H. Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014): its state advances by a constant, so one
 * addition that all threads share is a draw.
 *
 * ORDERING TABLE
 *   draw | state, refusals and pools fetch-and-add | relaxed | - | -
 *   seed | seed of the process load, CAS, CAS failure | relaxed | - | -
 */
#include "chaos.h"

#include <unistd.h>

#include "atomic.h"
#include "error.h"
#include "os.h"

#define CPI_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Of 1024 steps so many sleep, give way, or spin.  The others go on at once. */
#define CPI_STEPS 1024u
#define CPI_SLEEPS 1u
#define CPI_YIELDS 8u
#define CPI_SPINS 128u

/* Turns of the longest spin. */
#define CPI_LONGEST_SPIN 128u

/* Compare-and-swaps of which one fails. */
#define CPI_FAILS 4u

size_t cpi_chaos_refused_part;

static _Atomic uint64_t seed_of_process;
static _Atomic uint64_t refusals; /* the state of their sequence */
static _Atomic uint64_t pools;    /* that have begun a sequence */

static uint64_t mix(uint64_t state)
{
    state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
    return state ^ state >> 31;
}

uint64_t cpi_chaos_mix(uint64_t seed, uint64_t number)
{
    return mix(seed * CPI_GOLDEN + number);
}

uint64_t cpi_chaos_seed(size_t asked)
{
    uint64_t known = cpi_load(&seed_of_process, relaxed); /* [seed] */
    uint64_t seed = asked;

    if (known != 0)
        return known;
    if (seed == 0)
        seed = 1 + cpi_chaos_mix(cpi_os_now(), (uint64_t)getpid()) % CPI_CHAOS_SEED_MAX;
    if (!cpi_cas_strong(&seed_of_process, &known, seed, relaxed, relaxed)) /* [seed] */
        return known;
    cpi_tell("chaos: CPOOL_OPTIONS=chaos=%llu has the same chances", (unsigned long long)seed);
    return seed;
}

void cpi_chaos_begin(struct cpi_chaos *chaos, uint64_t seed)
{
    uint64_t number = cpi_fetch_add(&pools, (uint64_t)1, relaxed); /* [draw] */

    atomic_init(&chaos->state, cpi_chaos_mix(seed, number));
}

uint64_t cpi_chaos_draw(struct cpi_chaos *chaos)
{
    return mix(cpi_fetch_add(&chaos->state, CPI_GOLDEN, relaxed)); /* [draw] */
}

static void spin(unsigned turns)
{
    while (turns-- > 0)
        CPI_PAUSE();
}

CPI_COLD bool cpi_chaos_disturb(struct cpi_chaos *chaos)
{
    uint64_t drawn = cpi_chaos_draw(chaos);
    unsigned kind = (unsigned)(drawn % CPI_STEPS);

    if (kind < CPI_SLEEPS)
        cpi_os_back_off(CPI_GIVE_WAY);
    else if (kind < CPI_SLEEPS + CPI_YIELDS)
        cpi_os_back_off(0);
    else if (kind < CPI_SLEEPS + CPI_YIELDS + CPI_SPINS)
        spin((unsigned)(drawn >> 8) % CPI_LONGEST_SPIN);
    return (drawn >> 32) % CPI_FAILS == 0;
}

CPI_COLD bool cpi_chaos_draw_refusal(void)
{
    uint64_t number = cpi_fetch_add(&refusals, (uint64_t)1, relaxed); /* [draw] */
    uint64_t seed = cpi_load(&seed_of_process, relaxed);              /* [seed] */

    return cpi_chaos_mix(~seed, number) % cpi_chaos_refused_part == 0;
}
