/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retires.c - scenarios of sections and of retired slots, and the claims that must hold in each
 * run.
 *
 * A slot that a section has found is not handed out before its end, and each slot has one
 * holder.  At the end of the run all slots can be had, and each magazine is in its place.  A report
 * is a failure.
 */
#include "scenario.h"

#include <string.h>

#include <cpool.h>

#include "../../ext/retire/tests/domains.h"
#include "audit.h"

#define CAPACITY_MAX 16
#define MEMORY_MAX (64 * 1024)

/* A bag has one slot. */
#define HELD 4

struct party {
    cpool_reader_t *reader;
    void *found;              /* by its section, or NULL */
    void *left[CAPACITY_MAX]; /* of which the retire was refused */
    size_t lefts;
};

static struct {
    cpool_t *pool;
    cpool_domain_t *domain;
    size_t capacity;
    void *shown;             /* to sections.  One thread runs at a time */
    bool held[CAPACITY_MAX]; /* handed out, and not retired */
    struct party party[EXPLORER_THREADS_MAX + 1];
} the;

static _Alignas(64) char memory[MEMORY_MAX];

static void fail_on_report(const cpool_error_t *error, void *context)
{
    (void)context;
    explorer_fail(cpool_strerror(error->code));
}

static void *take(void)
{
    void *slot = cpool_alloc(the.pool);
    size_t index;

    if (slot == NULL)
        return NULL;
    index = cpool_index(the.pool, slot);
    if (index >= CAPACITY_MAX || cpool_at(the.pool, index) != slot)
        explorer_fail("what was handed out is no slot");
    if (the.held[index])
        explorer_fail("a slot was handed out that is held");
    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        if (the.party[t].found == slot)
            explorer_fail("a slot was handed out that a section has found");
    the.held[index] = true;
    return slot;
}

static void retire(struct party *party, void *slot)
{
    size_t index = cpool_index(the.pool, slot);

    the.held[index] = false;
    if (cpool_retire(party->reader, the.pool, slot) == 0)
        return;
    the.held[index] = true;
    party->left[party->lefts++] = slot;
}

static void replace(struct party *party)
{
    void *slot = take();
    void *old = the.shown;

    the.shown = slot;
    if (old != NULL)
        retire(party, old);
}

static void find(struct party *party, void (*begin)(cpool_reader_t *))
{
    party->found = NULL;
    begin(party->reader);
    party->found = the.shown;
}

static void end(struct party *party)
{
    party->found = NULL;
    cpool_read_end(party->reader);
}

/* --- The kind --- */

static void retire_open(const struct scenario *scenario)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    memset(&the, 0, sizeof the);
    the.capacity = scenario->capacity;
    cpool_set_error_handler((cpool_error_handler_t){ fail_on_report, NULL });
    config.slot_size = 64;
    config.capacity = scenario->capacity;
    config.magazine_rounds = scenario->rounds;
    config.flags = scenario->flags;
    config.memory = memory;
    config.memory_size = sizeof memory;
    if (cpool_create(&the.pool, &config) != 0 ||
        domain_create(&the.domain, EXPLORER_THREADS_MAX + 1, HELD, 0) != 0)
        explorer_fail("the pool or the domain cannot be created");
    the.shown = take();
}

static void retire_step(unsigned thread, char operation)
{
    struct party *party = &the.party[thread];

    if (party->reader == NULL)
        party->reader = reader_in(the.domain, 0);
    if (party->reader == NULL)
        explorer_fail("there is no reader");
    switch (operation) {
    case 'b': find(party, cpool_read_begin); break;
    case 'q': find(party, cpool_read_quiescent); break;
    case 'e': end(party); break;
    case 'r': replace(party); break;
    case 'l': (void)cpool_retire_flush(party->reader, 0); break;
    case 'w': (void)cpool_retire_flush(party->reader, CPOOL_FLUSH_WAIT); break;
    default: explorer_fail("no such operation");
    }
}

/* The end of a thread ends its section. */
static void retire_end(unsigned thread)
{
    the.party[thread].found = NULL;
}

static void retire_close(void)
{
    struct party *last = &the.party[EXPLORER_THREADS_MAX];
    const char *wrong;
    size_t count = 0;

    last->reader = reader_in(the.domain, 0);
    if (last->reader == NULL || cpool_retire_flush(last->reader, CPOOL_FLUSH_WAIT) != 0 ||
        domain_stats(the.domain).held != 0)
        explorer_fail("slots stay retired");
    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        for (size_t i = 0; i < the.party[t].lefts; i++)
            retire(last, the.party[t].left[i]);
    while (take() != NULL)
        ;
    for (size_t i = 0; i < the.capacity; i++)
        count += the.held[i];
    if (count != the.capacity)
        explorer_fail("slots were lost");
    wrong = audit_magazines(the.pool, 0);
    if (wrong != NULL)
        explorer_fail(wrong);
    if (cpool_domain_destroy(the.domain) != 0 || cpool_destroy(the.pool) != CPOOL_ELIVE)
        explorer_fail("the domain or the pool cannot be destroyed");
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
}

const struct kind retire_kind = {retire_open, retire_step, retire_end, retire_close};
