/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_null.c - NULL for a pool on the inline path.
 *
 * Includes the public API only, and reads the thread's word of <cpool/fast.h>.
 */
#include "support.h"

#include <inttypes.h>
#include <sys/wait.h>

enum { SLOT_SIZE = 48, CAPACITY = 200 };

/* Bytes around the entry of NULL in which nothing lies. */
#define FAR ((uintptr_t)1 << (sizeof(void *) >= 8 ? 40 : 24))

static cpool_t *volatile none;

/* Nor will any program come to lie there, or its heap, which grows, or what the system
 * places by itself. */
static void require_far_from_all_memory(uintptr_t entry)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t from;
    uintptr_t to;

    REQUIRE(maps != NULL);
    while (fscanf(maps, "%" SCNxPTR "-%" SCNxPTR "%*[^\n]", &from, &to) == 2)
        REQUIRE(from > entry ? from - entry > FAR : to <= entry && entry - to > FAR);
    REQUIRE(feof(maps));
    fclose(maps);
}

static void alloc_from_null(void *unused)
{
    (void)unused;
    (void)!cpool_alloc(none);
}

static void free_to_null(void *slot)
{
    cpool_free(none, slot);
}

static void require_trapped(void (*body)(void *argument), void *argument)
{
    struct support_outcome outcome;

    support_fork(body, argument, &outcome);
    REQUIRE(!WIFEXITED(outcome.status) || WEXITSTATUS(outcome.status) != 0);
}

static void *trap_in_thread(void *pool)
{
    void *slot = cpool_alloc(pool);

    if (!SUPPORT_SANITIZED) /* some keep addresses for themselves */
        require_far_from_all_memory(cpool_thread_word_abi1);
    require_trapped(alloc_from_null, NULL);
    require_trapped(free_to_null, slot);
    cpool_free(pool, slot);
    return NULL;
}

/* In threads with a table: the first, a second, and one with the second's. */
TEST(null_leads_to_no_memory_and_traps)
{
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    trap_in_thread(pool);
    support_in_thread(trap_in_thread, pool);
    support_in_thread(trap_in_thread, pool);
    support_destroy_empty(pool);
}
