/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_extent.c - memory from the system (lib/host/os.h), and ranges of it that
 * become usable from their start upwards (lib/depot/extent.h).
 */
#include "support.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "depot/extent.h"
#include "host/os.h"

#define MIB ((size_t)1024 * 1024)

enum { SIZE_MIB = 256 };

static struct cpi_extent make_extent(void)
{
    struct cpi_extent extent;
    void *base = cpi_os_reserve(SIZE_MIB * MIB, cpi_os_page_size());

    REQUIRE(base != NULL);
    cpi_extent_init(&extent, base, SIZE_MIB * MIB, cpi_os_page_size(), 0);
    return extent;
}

static size_t committed(const struct cpi_extent *extent)
{
    return atomic_load_explicit(&extent->committed, memory_order_acquire);
}

TEST(map_and_reserve_give_zeroed_pages)
{
    size_t page = cpi_os_page_size();
    unsigned char *mapped = cpi_os_map(3 * page);
    unsigned char *reserved = cpi_os_reserve(3 * page, page);

    REQUIRE((uintptr_t)mapped % page == 0 && (uintptr_t)reserved % page == 0);
    REQUIRE(cpi_os_commit(reserved + page, page));
    REQUIRE(cpi_os_commit(reserved + page, page));
    for (size_t i = 0; i < page; i++)
        REQUIRE(mapped[i] == 0 && reserved[page + i] == 0);
    memset(mapped, 1, 3 * page);
    memset(reserved + page, 1, page);
    REQUIRE(cpi_os_commit(reserved, 3 * page));
    REQUIRE(reserved[page] == 1 && reserved[0] == 0);
    cpi_os_release(mapped, 3 * page);
    cpi_os_release(reserved, 3 * page);
    REQUIRE(cpi_os_reserve(SIZE_MAX / 2 / page * page, page) == NULL);
}

TEST(reach_makes_memory_usable_step_by_step)
{
    struct cpi_extent extent = make_extent();
    size_t page = cpi_os_page_size();
    size_t before = 0;
    size_t steps = 0;

    REQUIRE_EQUAL(committed(&extent), 0);
    REQUIRE(cpi_extent_reach(&extent, 0));
    REQUIRE_EQUAL(committed(&extent), 0);
    for (size_t bytes = 1; bytes <= extent.size; bytes += page) {
        REQUIRE(cpi_extent_reach(&extent, bytes));
        REQUIRE(committed(&extent) >= bytes);
        REQUIRE(committed(&extent) <= extent.size);
        REQUIRE_EQUAL(committed(&extent) % page, 0);
        if (committed(&extent) != before) {
            steps++;
            before = committed(&extent);
            extent.base[before - 1] = 1;
        }
        extent.base[bytes - 1] = 1;
    }
    REQUIRE(steps < 30);
    REQUIRE(cpi_extent_reach(&extent, extent.size));
    REQUIRE_EQUAL(committed(&extent), extent.size);
    cpi_os_release(extent.base, extent.size);
}

TEST_IN_CHILD(reach_refused_changes_nothing)
{
    struct cpi_extent extent = make_extent();
    struct rlimit limit;
    size_t before;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    REQUIRE(cpi_extent_reach(&extent, MIB));
    REQUIRE_EQUAL(getrlimit(RLIMIT_DATA, &limit), 0);
    limit.rlim_cur = 100 * MIB;
    REQUIRE_EQUAL(setrlimit(RLIMIT_DATA, &limit), 0);
    before = committed(&extent);
    REQUIRE(!cpi_extent_reach(&extent, 200 * MIB));
    REQUIRE_EQUAL(committed(&extent), before);
    /* Less generous steps when the generous one is refused. */
    for (size_t bytes = MIB; bytes <= 64 * MIB; bytes += MIB)
        REQUIRE(cpi_extent_reach(&extent, bytes));
    extent.base[64 * MIB - 1] = 1;
}

/* A step would double what there is. */
TEST_IN_CHILD(reach_takes_less_when_a_step_is_refused)
{
    struct cpi_extent extent = make_extent();

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    REQUIRE(cpi_extent_reach(&extent, 16 * MIB));
    support_limit_writable(2 * MIB);
    REQUIRE(cpi_extent_reach(&extent, 17 * MIB));
    extent.base[17 * MIB - 1] = 1;
}

/* An end within a page is an end: committed memory only grows, and not beyond. */
TEST(reach_stays_within_the_extent)
{
    struct cpi_extent extent;
    size_t page = cpi_os_page_size();
    char *base = cpi_os_reserve(6 * page, page);
    int ends[2];

    REQUIRE(base != NULL && pipe(ends) == 0);
    cpi_extent_init(&extent, base, 3 * page + 1, page, 0);
    REQUIRE(cpi_extent_reach(&extent, 1));
    REQUIRE(cpi_extent_reach(&extent, 2 * page + 1));
    REQUIRE(committed(&extent) <= extent.size);
    REQUIRE(cpi_extent_reach(&extent, extent.size));
    REQUIRE_EQUAL(committed(&extent), extent.size);
    REQUIRE(write(ends[1], base + 4 * page, 1) == -1); /* nothing is there */
    close(ends[0]);
    close(ends[1]);
    cpi_os_release(base, 6 * page);
}
