/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_addresses.c - the tree of addresses, against a list of ranges.
 *
 * Includes addresses.h, descriptor.h, thread.h.  Ranges are made up: nothing lies there.
 */
#include "support.h"

#include "process/descriptor.h"
#include "process/addresses.h"
#include "process/thread.h"

enum { RANGES = 40, STEPS = 3000, LOOKS = 40 };

static const uintptr_t start = sizeof(void *) >= 8 ? (uintptr_t)0x7f0000000000u % UINTPTR_MAX
                                                   : 0x40000000u;

struct range {
    cpool_t *handle; /* NULL: none */
    uintptr_t from;
    uintptr_t to;
};

static struct range ranges[RANGES];

/* Handles that no pool has: the tree does not look at what they lead to. */
static cpool_t *handle_of(size_t i)
{
    return &cpi_handles()->handles[i + 1];
}

static bool overlaps(uintptr_t from, uintptr_t to)
{
    for (size_t i = 0; i < RANGES; i++)
        if (ranges[i].handle != NULL && ranges[i].from < to && from < ranges[i].to)
            return true;
    return false;
}

static cpool_t *expected(uintptr_t address)
{
    for (size_t i = 0; i < RANGES; i++)
        if (ranges[i].handle != NULL && ranges[i].from <= address && address < ranges[i].to)
            return ranges[i].handle;
    return NULL;
}

static void require_right(uintptr_t address)
{
    REQUIRE(cpi_ranges_find(address) == expected(address));
}

static void require_edges_right(const struct range *range)
{
    require_right(range->from - 1);
    require_right(range->from);
    require_right(range->to - 1);
    require_right(range->to);
}

static void draw(struct range *range, size_t i, uint64_t *random)
{
    unsigned bits = 6 + (unsigned)random_below(random, sizeof(void *) >= 8 ? 30 : 20);
    uintptr_t size = ((uintptr_t)random_below(random, (size_t)1 << (bits - 6)) + 1) * 64;
    uintptr_t from = start + ((uintptr_t)random_below(random, (size_t)1 << 24) & ~(uintptr_t)63);

    if (random_below(random, 3) == 0)
        from &= ~(((uintptr_t)1 << bits) - 1);
    if (from < start || overlaps(from, from + size))
        return;
    range->from = from;
    range->to = from + size;
    REQUIRE(cpi_ranges_add(handle_of(i), range->from, range->to));
    range->handle = handle_of(i);
}

TEST_TIMES(add_and_remove_at_random_finds_what_a_list_finds, 3)
{
    uint64_t random = (uint64_t)_i + 1;

    cpi_lock();
    for (size_t step = 0; step < SUPPORT_COUNT(STEPS, STEPS / 10); step++) {
        size_t i = random_below(&random, RANGES);
        struct range was = ranges[i];

        if (was.handle == NULL) {
            draw(&ranges[i], i, &random);
            was = ranges[i];
        } else {
            ranges[i].handle = NULL;
            cpi_ranges_remove(was.handle, was.from, was.to);
        }
        if (was.to != 0)
            require_edges_right(&was);
        for (size_t look = 0; look < LOOKS; look++)
            require_right(start + random_below(&random, (size_t)1 << 25));
    }
    for (size_t i = 0; i < RANGES; i++)
        if (ranges[i].handle != NULL)
            cpi_ranges_remove(ranges[i].handle, ranges[i].from, ranges[i].to);
    REQUIRE_EQUAL(cpi_ranges_nodes(), 0);
    cpi_ranges_release();
    cpi_unlock();
}

/* The largest pool there can be, at a bad place: few nodes, and no look goes wrong. */
TEST(add_huge_range_takes_few_nodes)
{
    uintptr_t size = sizeof(void *) >= 8 ? (uintptr_t)1 << 21 << 21 : (uintptr_t)1 << 29;
    struct range *range = &ranges[0];

    cpi_lock();
    range->from = start - size - 64;
    range->to = start - 128 - 4096;
    REQUIRE(cpi_ranges_add(handle_of(0), range->from, range->to));
    range->handle = handle_of(0);
    REQUIRE(cpi_ranges_nodes() <= 10);
    require_edges_right(range);
    for (unsigned bit = 6; bit < 8 * sizeof(void *); bit++)
        require_right(range->from + ((uintptr_t)1 << bit));
    range->handle = NULL;
    cpi_ranges_remove(handle_of(0), range->from, range->to);
    require_edges_right(range);
    REQUIRE_EQUAL(cpi_ranges_nodes(), 0);
    cpi_unlock();
}

int main(void)
{
    cpi_lock();
    REQUIRE(cpi_handle_hold());
    cpi_unlock();
    return support_run_all("ranges");
}
