/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_null.c - NULL for a pool on the inline path.
 *
 * Includes the public API only, and reads the thread's word of <cpool/fast.h>.
 */
#include "support.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { SLOT_SIZE = 48, CAPACITY = 200 };

/* Descriptors above have addresses that are not fixed. */
#define FIXED_BELOW ((uintptr_t)64 * 1024 * 1024)

/* Bytes that a program may keep anywhere, and an entry with rounds in it to a thread that
 * mistakes it. */
struct list {
    size_t count;
    size_t room;
    void **items;
    size_t rest[5];
};

static cpool_t *volatile none;

/* Memory of the program's where the entry of NULL would lie, if that is free. */
static void occupy_entry_of_null(void)
{
    static void *items[4];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t entry = cpool_thread_word_abi2;
    struct list *lists = mmap((void *)(entry & ~(uintptr_t)(page - 1)), page,
                              PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (lists == MAP_FAILED)
        return;
    for (size_t i = 0; i < page / sizeof *lists; i++)
        lists[i] = (struct list){ 3, 4, items, { 0 } };
}

static void alloc_from_null(void *unused)
{
    (void)unused;
    occupy_entry_of_null();
    (void)!cpool_alloc(none);
}

static void free_to_null(void *slot)
{
    occupy_entry_of_null();
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

    require_trapped(alloc_from_null, NULL);
    require_trapped(free_to_null, slot);
    cpool_free(pool, slot);
    return NULL;
}

/* In threads with a table: the first, a second, and one with the second's. */
START_TEST(null_traps_in_program_of_fixed_addresses)
{
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    if ((uintptr_t)pool < FIXED_BELOW) {
        trap_in_thread(pool);
        support_in_thread(trap_in_thread, pool);
        support_in_thread(trap_in_thread, pool);
    }
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(null_traps_in_program_of_fixed_addresses),
    };

    return SUPPORT_RUN("null", tests);
}
