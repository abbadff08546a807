/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * granted.h - gets by priority.
 */
#ifndef TESTS_GRANTED_H
#define TESTS_GRANTED_H

#include <cpool/object.h>

/* A get by priority, and what it tells. */
struct granted {
    void *object;
    cpool_claim_t claim;
    cpool_claim_t ended;
    uint64_t uses;
};

static inline int object_granted(cpool_objects_t *pool, int64_t priority, struct granted *granted)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    int code;

    grant.priority = priority;
    code = cpool_object_obtain(pool, &granted->object, &grant);
    granted->claim = grant.claim;
    granted->ended = grant.ended;
    granted->uses = grant.uses;
    return code;
}

#endif /* TESTS_GRANTED_H */
