/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes_state.c - the state of lanes as bytes, for rollback, late joiners and saved games.
 *
 *   | magic | version | capacity | lanes | head, count of each lane | word of each slot | sum |
 *
 * All are numbers of 32 bits, the lowest byte first on every machine, and `sum` has two.  No
 * address is in it, so the bytes mean the same in another process.
 *
 * ORDERING TABLE
 *   word   | word load, store | relaxed | - | -
 */
#include "lanes/lanes_impl.h"

#include <string.h>

#define CPI_STATE_MAGIC 0x4c505063u /* "cPPL" */
#define CPI_STATE_VERSION 1u

/* Numbers before those of the lanes, and those of the sum. */
enum { CPI_STATE_HEAD = 4, CPI_STATE_SUM = 2 };

static size_t number_of_numbers(const cpool_lanes_t *lanes)
{
    return CPI_STATE_HEAD + 2 * lanes->n + lanes->capacity + CPI_STATE_SUM;
}

size_t cpool_lanes_state_size(const cpool_lanes_t *lanes)
{
    if (CPI_HAS_ENDED(lanes))
        return 0;
    return number_of_numbers(lanes) * sizeof(uint32_t);
}

/* --- Numbers as bytes --- */

static void put(unsigned char *state, size_t at, uint32_t number)
{
    size_t i;

    for (i = 0; i < sizeof number; i++)
        state[at * sizeof number + i] = (unsigned char)(number >> 8 * i & 0xffu);
}

static uint32_t get(const unsigned char *state, size_t at)
{
    uint32_t number = 0;
    size_t i;

    for (i = 0; i < sizeof number; i++)
        number |= (uint32_t)state[at * sizeof number + i] << 8 * i;
    return number;
}

static size_t at_lane(size_t lane)
{
    return CPI_STATE_HEAD + 2 * lane;
}

static size_t at_slot(const cpool_lanes_t *lanes, size_t index)
{
    return at_lane(lanes->n) + index;
}

/* Of all numbers before it (FNV-1a, by numbers instead of bytes). */
static uint64_t sum_of(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t end = number_of_numbers(lanes) - CPI_STATE_SUM;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    size_t i;

    for (i = 0; i < end; i++)
        sum = (sum ^ get(state, i)) * UINT64_C(0x100000001b3);
    return sum;
}

/* --- Saving --- */

int cpool_lanes_save(const cpool_lanes_t *lanes, void *state, size_t size)
{
    const uint32_t head[CPI_STATE_HEAD] = {CPI_STATE_MAGIC, CPI_STATE_VERSION,
                                           (uint32_t)lanes->capacity, (uint32_t)lanes->n};
    unsigned char *to = state;
    uint64_t sum;
    size_t i;

    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    if (state == NULL)
        return CPOOL_ENULL;
    if (size < cpool_lanes_state_size(lanes))
        return CPOOL_ESTATE;
    for (i = 0; i < CPI_STATE_HEAD; i++)
        put(to, i, head[i]);
    for (i = 0; i < lanes->n; i++) {
        put(to, at_lane(i), lanes->lanes[i].head);
        put(to, at_lane(i) + 1, lanes->lanes[i].count);
    }
    for (i = 0; i < lanes->capacity; i++)
        put(to, at_slot(lanes, i), cpi_load(&lanes->words[i], relaxed)); /* [word] */
    sum = sum_of(lanes, to);
    put(to, at_slot(lanes, lanes->capacity), (uint32_t)sum);
    put(to, at_slot(lanes, lanes->capacity) + 1, (uint32_t)(sum >> 32));
    return 0;
}

/* --- Loading --- */

static bool is_whole(const cpool_lanes_t *lanes, const unsigned char *state)
{
    uint64_t sum = sum_of(lanes, state);
    size_t at = at_slot(lanes, lanes->capacity);

    return get(state, at) == (uint32_t)sum && get(state, at + 1) == (uint32_t)(sum >> 32);
}

static bool is_of_such_lanes(const cpool_lanes_t *lanes, const unsigned char *state)
{
    return get(state, 0) == CPI_STATE_MAGIC && get(state, 1) == CPI_STATE_VERSION &&
           get(state, 2) == lanes->capacity && get(state, 3) == lanes->n;
}

/* Whether the lane has as many slots as it says, and no other lane has one of them. */
static bool is_lane_right(const cpool_lanes_t *lanes, const unsigned char *state, size_t lane)
{
    uint32_t index = get(state, at_lane(lane));
    uint32_t left = get(state, at_lane(lane) + 1);

    for (; left > 0 && index < lanes->capacity; left--) {
        if (cpi_bitmap_is_set(lanes->reached, index))
            return false;
        cpi_bitmap_set(lanes->reached, index);
        index = get(state, at_slot(lanes, index));
    }
    return left == 0 && index == CPI_LANE_END;
}

/* Each slot that is in no lane is live, and no other one is. */
static bool are_lanes_right(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t i;

    memset(lanes->reached, 0, cpi_lanes_bits(lanes->capacity) * sizeof *lanes->reached);
    for (i = 0; i < lanes->n; i++)
        if (!is_lane_right(lanes, state, i))
            return false;
    for (i = 0; i < lanes->capacity; i++)
        if (cpi_bitmap_is_set(lanes->reached, i) ==
            (get(state, at_slot(lanes, i)) == CPI_LANE_LIVE))
            return false;
    return true;
}

int cpool_lanes_load(cpool_lanes_t *lanes, const void *state, size_t size)
{
    const unsigned char *from = state;
    size_t i;

    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    if (state == NULL)
        return CPOOL_ENULL;
    if (size != cpool_lanes_state_size(lanes) || !is_of_such_lanes(lanes, from) ||
        !is_whole(lanes, from) || !are_lanes_right(lanes, from))
        return CPOOL_ESTATE;
    for (i = 0; i < lanes->n; i++) {
        lanes->lanes[i].head = get(from, at_lane(i));
        lanes->lanes[i].count = get(from, at_lane(i) + 1);
    }
    for (i = 0; i < lanes->capacity; i++)
        cpi_store(&lanes->words[i], get(from, at_slot(lanes, i)), relaxed); /* [word] */
    return 0;
}
