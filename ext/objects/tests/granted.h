/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * granted.h - gets by priority, and gets that wait.
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

    grant.wait = wait;
    return cpool_object_get_with(pool, object, &grant);
}

/* What object_active looks for, NULL once it was found. */
static inline bool object_differs(const cpool_object_info_t *info, void *sought)
{
    void **object = sought;

    if (info->object == *object)
        *object = NULL;
    return *object != NULL;
}

static inline bool object_active(const cpool_objects_t *pool, void *object)
{
    void *sought = object;

    (void)cpool_object_each(pool, object_differs, &sought);
    return sought != object;
}

#endif /* TESTS_GRANTED_H */
