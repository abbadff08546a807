/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_help.c - an alloc that does other work while no slot is free.
 *
 * Includes growth.h.
 */
#include "growth.h"

enum { SLOT_SIZE = 32, CAPACITY = 20 };

struct helper {
    struct hold *hold;
    size_t calls;
    size_t frees_at; /* the call that frees a slot, or 0 for none */
    size_t ends_at;  /* the call that finds no work */
};

static bool help(void *argument)
{
    struct helper *helper = argument;

    helper->calls++;
    if (helper->calls == helper->frees_at)
        hold_free(helper->hold, 1);
    return helper->calls != helper->ends_at;
}

static const unsigned help_flags[] = { 0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_CHECKED };

enum { HELP_KINDS = sizeof(help_flags) / sizeof(help_flags[0]) };

START_TEST(alloc_or_help_helps_until_there_is_a_slot)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct hold hold;
    cpool_t *pool;
    void *slot;

    config.flags = help_flags[_i];
    pool = support_create(&config);
    hold_init(&hold, pool);
    for (size_t calls = 0; calls < 10; calls++) {
        struct helper helper = { &hold, 0, calls, 0 };

        if (calls == 0)
            hold_take(&hold, CAPACITY - 1); /* one is left: no help is needed */
        slot = cpool_alloc_or_help(pool, help, &helper);
        REQUIRE_EQUAL(helper.calls, calls);
        hold_add(&hold, slot);
        REQUIRE_EQUAL(hold.count, CAPACITY);
    }
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(alloc_or_help_without_work_is_null)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct helper gives_up = { NULL, 0, 0, 4 };
    struct helper frees_last = { NULL, 0, 3, 3 };
    struct hold hold;
    cpool_t *pool;

    config.flags = help_flags[_i];
    pool = support_create(&config);
    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    gives_up.hold = &hold;
    frees_last.hold = &hold;
    REQUIRE(cpool_alloc_or_help(pool, help, &gives_up) == NULL);
    REQUIRE_EQUAL(gives_up.calls, 4);
    /* The slot that the last piece of work freed is still found. */
    hold_add(&hold, cpool_alloc_or_help(pool, help, &frees_last));
    REQUIRE_EQUAL(frees_last.calls, 3);
    REQUIRE_EQUAL(hold.count, CAPACITY);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(alloc_or_help_helps_until_there_is_a_slot, HELP_KINDS),
        TIMES(alloc_or_help_without_work_is_null, HELP_KINDS),
    };

    return SUPPORT_RUN("help", tests);
}
