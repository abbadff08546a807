/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * typed_builds.c - a program with typed pools that uses no test library.
 *
 * Compiled and run by tests/scripts/check-typed.sh, in the ways in which a compiler treats
 * thread-local variables and inline functions differently.  Exit status: 0, or the number
 * of the step that failed.
 */
#include <cpool.h>

#include <pthread.h>

enum { CAPACITY = 500 };

struct even {
    char bytes[64];
};

struct uneven {
    char bytes[48];
};

CPOOL_DECLARE(evens, struct even);
CPOOL_DEFINE(evens, struct even, .capacity = CAPACITY, .magazine_rounds = 8);
CPOOL_DECLARE(unevens, struct uneven);
CPOOL_DEFINE(unevens, struct uneven, .capacity = CAPACITY, .magazine_rounds = 8);

static int refused;

static void refuse(const cpool_error_t *error, void *unused)
{
    (void)unused;
    refused += error->code == CPOOL_EMISALIGNED;
}

/* All slots, across the edges of many magazines. */
static int use(void)
{
    static _Thread_local struct even *even[CAPACITY];
    static _Thread_local struct uneven *uneven[CAPACITY];

    for (int i = 0; i < CAPACITY; i++) {
        even[i] = evens_alloc();
        uneven[i] = unevens_calloc();
        if (even[i] == NULL || uneven[i] == NULL || uneven[i]->bytes[47] != 0)
            return 1;
        even[i]->bytes[i % 64] = 1;
        uneven[i]->bytes[i % 48] = 1;
    }
    for (int i = 0; i < CAPACITY; i++) {
        evens_free(even[i]);
        unevens_free(uneven[i]);
    }
    return 0;
}

static void *use_in_thread(void *failed)
{
    *(int *)failed = use();
    return NULL;
}

static int misuse(void)
{
    struct uneven *uneven = unevens_alloc();
    struct even *even = evens_alloc();

    cpool_set_error_handler((cpool_error_handler_t){ refuse, NULL });
    unevens_free((struct uneven *)(void *)(uneven->bytes + 16));
    evens_free((struct even *)(void *)(even->bytes + 32));
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    unevens_free(uneven);
    evens_free(even);
    return refused == 2 ? 0 : 2;
}

int main(void)
{
    pthread_t thread;
    int failed = use();

    if (failed == 0 && pthread_create(&thread, NULL, use_in_thread, &failed) != 0)
        return 3;
    if (failed != 0 || pthread_join(thread, NULL) != 0 || failed != 0)
        return failed != 0 ? failed : 4;
    failed = misuse();
    if (failed == 0 && (evens_close() != CPOOL_OK || unevens_close() != CPOOL_OK))
        failed = 5;
    return failed;
}
