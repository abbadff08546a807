/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quiet_scope.h - pools and scopes for the tests of quiet scopes.
 *
 * Includes growth.h.
 */
#ifndef TESTS_QUIET_SCOPE_H
#define TESTS_QUIET_SCOPE_H

#include "growth.h"

enum { SLOT_SIZE = 64, CAPACITY = 10000, ROOM = 2000 };

static const unsigned kinds[] = { 0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_CHECKED };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

enum { ALL_TRAPS = CPOOL_TRAP_GROWTHS | CPOOL_TRAP_SYSTEM_CALLS | CPOOL_TRAP_FRESH_SLOTS |
                   CPOOL_TRAP_EXCHANGES };

static cpool_t *create(unsigned flags, size_t max_capacity)
{
    return growth_pool(SLOT_SIZE, flags, CAPACITY, max_capacity);
}

static cpool_quiet_t end_scope(void)
{
    cpool_quiet_t counts = CPOOL_QUIET_INIT;

    REQUIRE_EQUAL(cpool_quiet_end(&counts), 0);
    return counts;
}

#endif /* TESTS_QUIET_SCOPE_H */
