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
 *   note   | count, sum load and store | relaxed | - | -
 */
#include "lanes/lanes_impl.h"

#include <string.h>

#define CPI_STATE_MAGIC 0x4c505063u /* "cPPL" */
#define CPI_STATE_VERSION 2u

/* Numbers before those of the lanes.  Those of the sum are two. */
enum { CPI_STATE_HEAD = 4 };

static size_t size_of_state(const cpool_lanes_t *lanes)
{
    return CPOOL_LANES_STATE_SIZE(lanes->capacity, lanes->n);
}

/* --- Numbers as bytes --- */

#define CPI_LOWEST_FIRST (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static void put(unsigned char *state, size_t at, uint32_t number)
{
    if (!CPI_LOWEST_FIRST)
        number = __builtin_bswap32(number);
    memcpy(state + at * sizeof number, &number, sizeof number);
}

static uint32_t get(const unsigned char *state, size_t at)
{
    uint32_t number;

    memcpy(&number, state + at * sizeof number, sizeof number);
    return CPI_LOWEST_FIRST ? number : __builtin_bswap32(number);
}

/* Four of them, of which each element has two, the first one in its lower half.  No function
 * returns them: how depends on the processor's extensions. */
typedef uint64_t cpi_four __attribute__((__vector_size__(16)));

static void get_four(const unsigned char *state, size_t at, cpi_four *numbers)
{
    memcpy(numbers, state + at * sizeof(uint32_t), sizeof *numbers);
    if (!CPI_LOWEST_FIRST)
        *numbers = (cpi_four){__builtin_bswap64((*numbers)[0]), __builtin_bswap64((*numbers)[1])};
}

static size_t at_lane(size_t lane)
{
    return CPI_STATE_HEAD + 2 * lane;
}

static size_t at_slot(const cpool_lanes_t *lanes, size_t index)
{
    return at_lane(lanes->n) + index;
}

static uint64_t mix_sum(uint64_t sum, uint64_t number)
{
    sum = (sum ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return sum << 29 | sum >> 35;
}

/* Of all numbers before it: in each of four columns of two numbers their sum, and that of all its
 * values on the way, which tells their order (J. Fletcher, 1982).  The last numbers, which are
 * fewer than eight, belong to the first column one by one. */
static uint64_t sum_of(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t end = at_slot(lanes, lanes->capacity);
    cpi_four left = {1, 2}, right = {3, 4}, left_sums = {0, 0}, right_sums = {0, 0}, four;
    uint64_t sum = 0;
    size_t at, i;

    for (at = 0; at + 8 <= end; at += 8) {
        get_four(state, at, &four);
        left += four;
        left_sums += left;
        get_four(state, at + 4, &four);
        right += four;
        right_sums += right;
    }
    for (; at < end; at++) {
        left[0] += get(state, at);
        left_sums[0] += left[0];
    }
    for (i = 0; i < 2; i++)
        sum = mix_sum(mix_sum(mix_sum(mix_sum(sum, left[i]), left_sums[i]), right[i]),
                      right_sums[i]);
    return sum;
}

/* --- The slots' words, which are the bytes of a state where the lowest byte comes first --- */

static void copy_out(const cpool_lanes_t *lanes, unsigned char *state)
{
    if (CPI_LOWEST_FIRST)
        memcpy(state + at_slot(lanes, 0) * sizeof(uint32_t), (const void *)lanes->words,
               lanes->capacity * sizeof(uint32_t));
    for (size_t i = 0; i < lanes->capacity && !CPI_LOWEST_FIRST; i++)
        put(state, at_slot(lanes, i), cpi_load(&lanes->words[i], relaxed)); /* [word] */
}

static void copy_in(cpool_lanes_t *lanes, const unsigned char *state)
{
    if (CPI_LOWEST_FIRST)
        memcpy((void *)lanes->words, state + at_slot(lanes, 0) * sizeof(uint32_t),
               lanes->capacity * sizeof(uint32_t));
    for (size_t i = 0; i < lanes->capacity && !CPI_LOWEST_FIRST; i++)
        cpi_store(&lanes->words[i], get(state, at_slot(lanes, i)), relaxed); /* [word] */
}

/* --- Saving --- */

static void note_sum(const cpool_lanes_t *lanes, uint64_t sum)
{
    unsigned number = cpi_fetch_add(&lanes->states->count, 1u, relaxed); /* [note] */

    cpi_store(&lanes->states->sums[number % CPI_LANE_STATES], sum, relaxed); /* [note] */
}

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
    if (size < size_of_state(lanes))
        return CPOOL_ESTATE;
    for (i = 0; i < CPI_STATE_HEAD; i++)
        put(to, i, head[i]);
    for (i = 0; i < lanes->n; i++) {
        put(to, at_lane(i), lanes->lanes[i].head);
        put(to, at_lane(i) + 1, lanes->lanes[i].count);
    }
    copy_out(lanes, to);
    sum = sum_of(lanes, to);
    note_sum(lanes, sum);
    put(to, at_slot(lanes, lanes->capacity), (uint32_t)sum);
    put(to, at_slot(lanes, lanes->capacity) + 1, (uint32_t)(sum >> 32));
    return 0;
}

/* --- Loading --- */

static bool is_known(const cpool_lanes_t *lanes, uint64_t sum)
{
    for (size_t i = 0; i < CPI_LANE_STATES; i++)
        if (cpi_load(&lanes->states->sums[i], relaxed) == sum) /* [note] */
            return true;
    return false;
}

/* Whether no word leads to a slot that there is not.  The top bit of a half tells of one that
 * does.  Two states have the same sum once in 2^64 times, or on purpose. */
static bool are_words_near(const cpool_lanes_t *lanes, const unsigned char *state)
{
    const uint32_t rest = (uint32_t)(CPI_LANE_SLOTS_MAX - lanes->capacity) + 1;
    const uint64_t two = (uint64_t)1 << 32 | 1;
    const cpi_four rests = {two * rest, two * rest};
    size_t at = at_slot(lanes, 0), end = at + lanes->capacity, i;
    cpi_four found = {0, 0}, left, right;

    for (; at + 8 <= end; at += 8) {
        get_four(state, at, &left);
        get_four(state, at + 4, &right);
        found |= left | (left + rests) | right | (right + rests);
    }
    for (; at < end; at++)
        found[0] |= get(state, at) | (get(state, at) + (uint64_t)rest);
    for (i = 0; i < lanes->n; i++)
        found[0] |= get(state, at_lane(i)) | (get(state, at_lane(i)) + (uint64_t)rest);
    return ((found[0] | found[1]) & two << 31) == 0;
}

static bool is_of_such_lanes(const cpool_lanes_t *lanes, const unsigned char *state)
{
    return get(state, 0) == CPI_STATE_MAGIC && get(state, 1) == CPI_STATE_VERSION &&
           get(state, 2) == lanes->capacity && get(state, 3) == lanes->n;
}

/* Whether the lane has as many slots as it says, and no other lane has one of them. */
static bool is_lane_right(const cpool_lanes_t *lanes, const unsigned char *state, size_t lane)
{
    uint32_t word = get(state, at_lane(lane));
    uint32_t left = get(state, at_lane(lane) + 1);

    for (; left > 0 && word >= CPI_LANE_SLOT && word - CPI_LANE_SLOT < lanes->capacity; left--) {
        size_t index = word - CPI_LANE_SLOT;

        if (cpi_bitmap_is_set(lanes->reached, index))
            return false;
        cpi_bitmap_set(lanes->reached, index);
        word = get(state, at_slot(lanes, index));
    }
    return left == 0 && word == CPI_LANE_END;
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

/* Whether it has not been damaged, and is one of these lanes. */
static bool is_right(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t end = at_slot(lanes, lanes->capacity);
    uint64_t sum = sum_of(lanes, state);

    if (!is_of_such_lanes(lanes, state) ||
        get(state, end) != (uint32_t)sum ||
        get(state, end + 1) != (uint32_t)(sum >> 32))
        return false;
    return is_known(lanes, sum) ? are_words_near(lanes, state) : are_lanes_right(lanes, state);
}

int cpool_lanes_load(cpool_lanes_t *lanes, const void *state, size_t size)
{
    const unsigned char *from = state;
    size_t i;

    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    if (state == NULL)
        return CPOOL_ENULL;
    if (size != size_of_state(lanes) || !is_right(lanes, from))
        return CPOOL_ESTATE;
    for (i = 0; i < lanes->n; i++) {
        lanes->lanes[i].head = get(from, at_lane(i));
        lanes->lanes[i].count = get(from, at_lane(i) + 1);
    }
    copy_in(lanes, from);
    return 0;
}
