/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reentry.c - what happens inside the calls that the library makes of the C
 * library: they may allocate, with a malloc that is itself made of a pool, and
 * other threads may fork at that moment.
 *
 * The linker sends these calls of the library's through this file (--wrap).
 */
#include "support.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a child may take, seconds, before it counts as hung. */
enum { PATIENCE = 20 };

/*
 * ---- Calls in between ----------------------------------------------------
 */

/* What the calling thread does inside its next such call, once. */
static _Thread_local void (*in_malloc)(void);

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static void act_once(void (**action)(void))
{
    void (*now)(void) = *action;

    *action = NULL;
    if (now != NULL)
        now();
}

void *__wrap_malloc(size_t size)
{
    act_once(&in_malloc);
    return __real_malloc(size);
}

/*
 * ---- Forks of another thread ---------------------------------------------
 */

/* What the child of the other thread does. */
static void (*in_child)(void);

static void *fork_once(void *unused)
{
    pid_t child = fork();
    int status = -1;

    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(PATIENCE / 2);
        if (in_child != NULL)
            in_child();
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    REQUIRE_EQUAL(status, 0);
    return unused;
}

static void fork_in_another_thread(void)
{
    support_in_thread(fork_once, NULL);
}

/*
 * ---- Error handlers ------------------------------------------------------
 */

/* More than need no memory. */
enum { HANDLERS = 40 };

static void ignore(const cpool_error_t *error, void *context)
{
    (void)error;
    (void)context;
}

static void set_handlers(void *pool)
{
    static char contexts[HANDLERS];
    size_t allocations = 0;

    alarm(PATIENCE);
    for (size_t i = 0; i < HANDLERS; i++) {
        in_malloc = fork_in_another_thread;
        cpool_set_error_handler(ignore, &contexts[i]);
        allocations += in_malloc == NULL;
    }
    in_malloc = NULL;
    REQUIRE(allocations > 0);
    cpool_free(pool, cpool_alloc(pool));
}

START_TEST(fork_while_set_error_handler_allocates_ends)
{
    cpool_t *pool = support_create_plain(16, 100);

    support_in_child(set_handlers, pool);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(fork_while_set_error_handler_allocates_ends),
    };

    return SUPPORT_RUN("reentry", tests);
}
