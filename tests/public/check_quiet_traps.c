/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_quiet_traps.c - handlers of traps that use pools, and traps of functions
 * that make and end a pool.
 *
 * Includes quiet_scope.h.
 */
#include "quiet_scope.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>

struct helper {
    cpool_t *pool; /* another one */
    size_t depth;
    size_t calls;
    bool leaves;
    jmp_buf back;
};

static void handle_by_pool(const cpool_error_t *error, void *context)
{
    struct helper *helper = context;
    void *slots[ROOM];

    REQUIRE_EQUAL(error->code, CPOOL_ENOTQUIET);
    REQUIRE_EQUAL(++helper->depth, 1);
    helper->calls++;
    /* All four kinds of noise. */
    REQUIRE_EQUAL(cpool_grow(helper->pool, 1), 1);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(helper->pool, slots, ROOM), 0);
    cpool_free_bulk(helper->pool, slots, ROOM);
    (void)cpool_trim(helper->pool);
    helper->depth--;
    if (helper->leaves)
        longjmp(helper->back, 1);
}

START_TEST(trap_handler_may_use_another_pool)
{
    static struct helper helper;
    cpool_t *pool = create(kinds[_i], 2 * CAPACITY);
    cpool_quiet_t counts = CPOOL_QUIET_INIT;

    helper.pool = create(0, 2 * CAPACITY);
    cpool_set_error_handler(handle_by_pool, &helper);
    REQUIRE_EQUAL(cpool_quiet_begin(ALL_TRAPS & ~(unsigned)CPOOL_TRAP_SYSTEM_CALLS), 0);
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_EQUAL(helper.calls, 1);
    /* The scope goes on, and the handler's actions are no part of it. */
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_EQUAL(helper.calls, 2);
    counts = end_scope();
    REQUIRE_EQUAL(counts.growths, 2);
    REQUIRE_EQUAL(counts.fresh_slots + counts.exchanges, 0);
    cpool_set_error_handler(NULL, NULL);
    support_destroy_empty(helper.pool);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(trap_handler_that_leaves_suspends_the_scope_until_the_next)
{
    static struct helper helper;
    cpool_t *pool = create(0, 2 * CAPACITY);

    helper.pool = create(0, 2 * CAPACITY);
    helper.leaves = true;
    cpool_set_error_handler(handle_by_pool, &helper);
    REQUIRE_EQUAL(cpool_quiet_begin(CPOOL_TRAP_GROWTHS), 0);
    if (setjmp(helper.back) == 0) {
        (void)cpool_grow(pool, 1);
        REQUIRE(false);
    }
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_EQUAL(helper.calls, 1);
    REQUIRE_EQUAL(end_scope().growths, 1);
    helper.leaves = false;
    REQUIRE_EQUAL(cpool_quiet_begin(CPOOL_TRAP_GROWTHS), 0);
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_EQUAL(helper.calls, 2);
    REQUIRE_EQUAL(end_scope().growths, 1);
    cpool_set_error_handler(NULL, NULL);
    support_destroy_empty(helper.pool);
    support_destroy_empty(pool);
}
END_TEST

/* The pool is made, or gone, by the time of the report. */
START_TEST(trap_reports_create_and_destroy)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    cpool_t *pool = create(0, 0); /* so that there has been one */
    cpool_t *made;

    config.flags = kinds[_i];
    support_capture_reports();
    REQUIRE_EQUAL(cpool_quiet_begin(CPOOL_TRAP_SYSTEM_CALLS), 0);
    made = support_create(&config);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_ENOTQUIET).function, "cpool_create") == 0);
    support_destroy_empty(made);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_ENOTQUIET).function, "cpool_destroy") == 0);
    (void)end_scope();
    support_release_reports();
    support_destroy_empty(pool);
}
END_TEST

static void grow_without_memory(void *unused)
{
    cpool_config_t config = support_config(1 << 20, 1);
    cpool_t *pool;

    (void)unused;
    config.max_capacity = 1000;
    pool = support_create(&config);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_quiet_begin(CPOOL_TRAP_SYSTEM_CALLS), 0); /* it takes memory, too */
    REQUIRE(growth_refuse_call(SYS_mprotect, ENOMEM));
    REQUIRE_EQUAL(cpool_grow(pool, 900), 0);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_ENOTQUIET).function, "cpool_grow") == 0);
    REQUIRE(end_scope().system_calls > 0);
}

START_TEST(trap_reports_system_calls_that_were_refused)
{
    SKIP_IF(!growth_has_filters(), "no filter of system calls here");
    support_in_child(grow_without_memory, NULL);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(trap_handler_may_use_another_pool, KINDS),
        ONCE(trap_handler_that_leaves_suspends_the_scope_until_the_next),
        TIMES(trap_reports_create_and_destroy, KINDS),
        ONCE(trap_reports_system_calls_that_were_refused),
    };

    return SUPPORT_RUN("quiet_traps", tests);
}
