/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_destroyed.c - handles that lead to no pool: every public function refuses and
 * reports them, and does nothing else.
 *
 * Includes the public API only.
 */
#include "support.h"

#include "misuse.h"

#include <string.h>

enum { SLOT_SIZE = 48, CAPACITY = 200 };

static const unsigned kinds[] = { 0, CPOOL_CHECKED, CPOOL_EXACT, CPOOL_WAITABLE };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void require_none_wrong(const char *wrong)
{
    if (wrong != NULL)
        support_fail(__FILE__, __LINE__, wrong);
}

static void require_all_refused(struct misuse *misuse)
{
    require_none_wrong(misuse_out_of_line(misuse));
    require_none_wrong(misuse_inline(misuse));
}

static void *refused_elsewhere(void *misuse)
{
    require_all_refused(misuse);
    return NULL;
}

static struct misuse use_and_destroy(unsigned flags)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct misuse misuse;

    config.flags = flags;
    misuse.pool = support_create(&config);
    misuse.cache = cpool_cache(misuse.pool);
    REQUIRE(misuse.cache != NULL);
    misuse.slot = cpool_alloc(misuse.pool);
    cpool_free(misuse.pool, misuse.slot);
    support_destroy_empty(misuse.pool);
    return misuse;
}

/* By the thread that used it and had a cache of it, and by one that never did. */
START_TEST(destroyed_pool_refused_by_every_function)
{
    struct misuse misuse = use_and_destroy(kinds[_i]);
    cpool_t *next;

    require_all_refused(&misuse);
    require_none_wrong(misuse_cache(&misuse));
    support_in_thread(refused_elsewhere, &misuse);
    next = support_create_plain(SLOT_SIZE, CAPACITY);
    require_all_refused(&misuse);
    support_require_obtainable(next, 0);
    support_destroy_empty(next);
}
END_TEST

/* A handle is not soon that of another pool. */
START_TEST(destroyed_pool_refused_for_long)
{
    enum { POOLS = 250 };
    struct misuse misuse = use_and_destroy(0);
    cpool_t *last = NULL;

    for (int i = 0; i < POOLS; i++) {
        cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

        REQUIRE(pool != misuse.pool && pool != last);
        cpool_free(pool, cpool_alloc(pool));
        support_destroy_empty(pool);
        last = pool;
    }
    require_all_refused(&misuse);
    require_none_wrong(misuse_cache(&misuse));
}
END_TEST

static struct support_report report_of(const cpool_t *pool)
{
    support_capture_reports();
    REQUIRE_EQUAL(cpool_index_limit(pool), 0);
    return REQUIRE_REPORT(CPOOL_EPOOL);
}

/* As long as not many others were destroyed later. */
START_TEST(report_says_what_is_wrong_with_the_handle)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct misuse misuse = use_and_destroy(0);
    struct support_report report;
    cpool_t *pool;

    config.name = "gone";
    pool = support_create(&config);
    support_destroy_empty(pool);
    report = report_of(pool);
    REQUIRE(strcmp(report.name, "gone") == 0);
    REQUIRE(strstr(report.text, "destroyed (pool 'gone'") != NULL);
    REQUIRE(strstr(report_of(NULL).text, "is NULL") != NULL);
    REQUIRE(strstr(report_of(NULL).text, "destroyed") == NULL);
    for (int i = 0; i < 100; i++)
        support_destroy_empty(support_create_plain(SLOT_SIZE, CAPACITY));
    report = report_of(misuse.pool);
    REQUIRE(report.name[0] == '\0' && strstr(report.text, "destroyed (0x") != NULL);
    support_release_reports();
}
END_TEST

START_TEST(pointer_that_is_no_handle_refused_by_every_function)
{
    static cpool_t own;
    struct misuse misuse = use_and_destroy(0);
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);
    void *slot = cpool_alloc(pool);
    cpool_t *const wrong[] = {
        &own,
        slot,
        (cpool_t *)64,
        (cpool_t *)UINTPTR_MAX,
        (cpool_t *)((uintptr_t)pool + 1),
        (cpool_t *)((uintptr_t)pool + sizeof(cpool_t) / 2),
        pool + 1,       /* of no pool yet */
        pool + 1000000, /* beyond them all */
        pool - 1000000,
    };

    own = *pool;
    misuse.slot = slot;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        misuse.pool = wrong[i];
        require_none_wrong(misuse_out_of_line(&misuse));
    }
    cpool_free(pool, slot);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(destroyed_pool_refused_by_every_function, KINDS),
        ONCE(destroyed_pool_refused_for_long),
        ONCE(report_says_what_is_wrong_with_the_handle),
        ONCE(pointer_that_is_no_handle_refused_by_every_function),
    };

    return SUPPORT_RUN("destroyed", tests);
}
