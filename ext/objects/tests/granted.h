/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * granted.h - gets by priority, gets that wait, and the active objects.
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
    code = cpool_object_get_with(pool, &granted->object, &grant);
    granted->claim = grant.claim;
    granted->ended = grant.ended;
    granted->uses = grant.uses;
    return code;
}

/* A get that waits for so many nanoseconds at most. */
static inline int object_wait(cpool_objects_t *pool, void **object, uint64_t wait)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;

    grant.wait_ns = wait;
    return cpool_object_get_with(pool, object, &grant);
}

static inline bool object_active(const cpool_objects_t *pool, const void *object)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;

    while (cpool_objects_next(pool, &info) != NULL)
        if (info.object == object)
            return true;
    return false;
}

/* The number of active objects.  *last is what is said about the last one. */
static inline size_t objects_count(const cpool_objects_t *pool, cpool_object_info_t *last)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    size_t count = 0;

    for (*last = info; cpool_objects_next(pool, &info) != NULL; count++)
        *last = info;
    return count;
}

#endif /* TESTS_GRANTED_H */
