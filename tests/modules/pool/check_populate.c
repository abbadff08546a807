/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_populate.c - how cpool_reserve makes slots resident: by the system, where it can.
 */
#include "growth.h"

#include <sys/mman.h>

enum { SLOT_SIZE = 512, CAPACITY = 3000, ROUNDS = 50 };

#define SKIP_UNLESS_IT_POPULATES                                               \
    SKIP_IF(!growth_populates(), "the system cannot populate")

static cpool_t *create(size_t max_capacity)
{
    return SUPPORT_CREATE(SLOT_SIZE, CAPACITY, .magazine_rounds = ROUNDS,
                          .max_capacity = max_capacity);
}

/* Takes and frees so many, with a stamp in each. */
static void use(cpool_t *pool, size_t n)
{
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, n), n);
    hold_free_all(&hold);
    hold_fini(&hold);
    cpool_flush(pool);
}

static size_t resident(const cpool_t *pool)
{
    char *first = support_page_of(cpool_at(pool, 0));

    return support_resident_inside(first, SLOT_SIZE * (size_t)CAPACITY);
}

/* Free slots that nobody may even look at. */
TEST(reserve_touches_no_free_slot)
{
    cpool_t *pool = create(0);
    size_t page = support_page_size();
    char *base = (char *)support_page_of(cpool_at(pool, 0)) + page;
    size_t size = (CAPACITY - 200) * (size_t)SLOT_SIZE / page * page;

    SKIP_UNLESS_IT_POPULATES;
    use(pool, CAPACITY);
    REQUIRE_EQUAL(mprotect(base, size, PROT_NONE), 0);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY), 0);
    REQUIRE_EQUAL(mprotect(base, size, PROT_READ | PROT_WRITE), 0);
    support_destroy_whole(pool);
}

/* Those in circulation, and as many fresh ones as are asked for. */
TEST_TIMES(reserve_makes_so_many_resident, SUPPORT_SANITIZED ? 0 : 4)
{
    static const size_t used[] = { 0, 500, 1000, CAPACITY };
    cpool_t *pool = create(0);
    size_t wanted = (used[_i] < CAPACITY ? used[_i] + 1000 : CAPACITY) * (size_t)SLOT_SIZE;

    SKIP_UNLESS_IT_POPULATES;
    use(pool, used[_i]);
    cpool_trim(pool);
    REQUIRE(resident(pool) <= support_page_size());
    REQUIRE_EQUAL(cpool_reserve(pool, 1000), 0);
    REQUIRE(resident(pool) + 2 * support_page_size() >= wanted);
    REQUIRE(resident(pool) <= wanted + support_page_size());
    REQUIRE(support_stats(pool).circulating <= used[_i] + ROUNDS);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

/* Slots that begin anywhere on a page: the page on which the last of them ends, too. */
TEST(reserve_reaches_the_last_byte)
{
    enum { ODD_SIZE = 5000, MOST = 64 };
    size_t page = support_page_size();

    SKIP_UNLESS_IT_POPULATES;
    for (size_t n = 1; n <= MOST; n++) {
        cpool_t *pool = support_create_plain(ODD_SIZE, CAPACITY);
        char *last = (char *)cpool_at(pool, 0) + (n - 1) * support_stats(pool).slot_stride;

        REQUIRE_EQUAL(cpool_reserve(pool, n), 0);
        REQUIRE_EQUAL(support_resident_inside(support_page_of(last + ODD_SIZE - 1), page), page);
        support_destroy_empty(pool);
    }
}
