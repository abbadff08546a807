/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools_tag.c - parts of one pool for several users: counts and limits.
 *
 * Floor 6.
 *
 * ORDERING TABLE
 *   take  | live CAS up                                      | acquire | give | the slots that
 *                                                             came back
 *   give  | live CAS down                                    | release | take | the slots that
 *                                                             came back
 *   count | live load, CAS failure, store at reset; limit load, store | relaxed | - | -
 *   peak  | peak load, CAS; refused load, fetch-and-add      | relaxed | - | -
 *
 * A tag's count is one word.  It is raised before a slot is taken and lowered after a slot
 * has been given back, so it never is below the number of slots that the tag has live.
 * A thread that is let in because another one gave slots back finds these slots: the giver
 * lowers the count with a release, after the slots, and the taker's compare-and-swap
 * acquires it.  Read-modify-writes between the two go on with the release.
 *
 * The words are plain in the public structure, for C++.
 */
#include "pool_impl.h"

#include <string.h>

#include "atomic.h"
#include "error.h"
#include "structs.h"

/* A word of the public structure. */
static _Atomic size_t *word(size_t *member)
{
    return (_Atomic size_t *)member;
}

static size_t read_word(const size_t *member)
{
    return cpi_load((const _Atomic size_t *)member, relaxed); /* [count] */
}

/* --- Counting --- */

static void note_peak(cpool_tag_t *tag, size_t live)
{
    size_t peak = cpi_load(word(&tag->peak), relaxed); /* [peak] */

    while (peak < live) {
        if (cpi_cas_weak(word(&tag->peak), &peak, live, relaxed, relaxed)) /* [peak] */
            break;
    }
}

size_t cpool_tag_take(cpool_tag_t *tag, size_t n)
{
    size_t live = cpi_load(word(&tag->live), relaxed); /* [count] */
    size_t granted;

    do {
        size_t limit = cpi_load(word(&tag->limit), relaxed); /* [count] */
        size_t room = limit > live ? limit - live : 0;

        granted = n < room ? n : room;
    } while (granted > 0 && !cpi_cas_weak(word(&tag->live), &live, live + granted, acquire,
                                          relaxed)); /* [take] [count] */
    if (granted > 0)
        note_peak(tag, live + granted);
    if (granted < n)
        cpi_fetch_add(word(&tag->refused), n - granted, relaxed); /* [peak] */
    return granted;
}

static void report_surplus(const cpool_tag_t *tag, const char *function)
{
    cpool_error_t error;

    memset(&error, 0, sizeof error);
    error.code = CPOOL_EDOUBLEFREE;
    error.function = function;
    error.pool = tag->pool;
    error.name = tag->name;
    cpi_report(&error, "%s: more slots were given back than taken (tag '%s' of pool %p)", function,
               tag->name, (const void *)tag->pool);
}

/* Returns false after a report: the tag has fewer slots live. */
static bool give(cpool_tag_t *tag, size_t n, const char *function)
{
    size_t live = cpi_load(word(&tag->live), relaxed); /* [count] */

    do {
        if (live < n) {
            report_surplus(tag, function);
            return false;
        }
    } while (!cpi_cas_weak(word(&tag->live), &live, live - n, release, /* [give] */
                           relaxed));                                  /* [count] */
    return true;
}

void cpool_tag_give(cpool_tag_t *tag, size_t n)
{
    give(tag, n, "cpool_tag_give");
}

/* --- Slots --- */

void *cpool_tag_alloc(cpool_tag_t *tag)
{
    void *slot;

    if (cpool_tag_take(tag, 1) == 0)
        return NULL;
    slot = cpi_pool_of(tag->pool, "cpool_tag_alloc") != NULL ? cpool_alloc(tag->pool) : NULL;
    if (slot == NULL)
        give(tag, 1, "cpool_tag_alloc");
    return slot;
}

/* Returns true if the slot went back.  Pools with an inline path refuse a slot
 * by validation alone. */
static bool free_one(struct cpi_pool *pool, void *slot, const char *function, const void *site)
{
    if (!pool->registry.inline_path)
        return cpi_pool_free(pool, cpi_registry_own_cache(&pool->registry), slot, function, site);
    if (!cpi_pool_validate(pool, slot, function))
        return false;
    cpool_free(pool->handle, slot);
    return true;
}

static void free_tagged(cpool_tag_t *tag, void *const *slots, size_t n, const char *function,
                        const void *site)
{
    struct cpi_pool *pool = cpi_pool_of(tag->pool, function);
    size_t given = 0;
    size_t i;

    for (i = 0; pool != NULL && i < n; i++)
        given += slots[i] != NULL && free_one(pool, slots[i], function, site);
    if (given > 0)
        give(tag, given, function);
}

void cpool_tag_free(cpool_tag_t *tag, void *slot)
{
    free_tagged(tag, &slot, 1, "cpool_tag_free", CPI_CALLER());
}

void cpool_tag_free_bulk(cpool_tag_t *tag, void *const *slots, size_t n)
{
    free_tagged(tag, slots, n, "cpool_tag_free_bulk", CPI_CALLER());
}

size_t cpool_tag_alloc_bulk(cpool_tag_t *tag, void **slots, size_t n)
{
    size_t granted = cpool_tag_take(tag, n);
    size_t got = granted > 0 ? cpool_alloc_bulk(tag->pool, slots, granted) : 0;

    if (got < granted)
        give(tag, granted - got, "cpool_tag_alloc_bulk");
    return got;
}

/* --- The tags of a pool --- */

void cpi_pool_clear_tags(struct cpi_pool *pool)
{
    cpool_tag_t *tag;

    for (tag = pool->tags; tag != NULL; tag = tag->next)
        cpi_store(word(&tag->live), 0, relaxed); /* [count] */
}

/* With the lock held.  A pool that is destroyed forgets its tags. */
static bool is_open(const cpool_tag_t *tag)
{
    const struct cpi_pool *pool = cpi_handle_is_alive(tag->pool) ? tag->pool->state : NULL;
    const cpool_tag_t *other = pool != NULL ? pool->tags : NULL;

    while (other != NULL && other != tag)
        other = other->next;
    return other != NULL;
}

int cpool_tag_open(cpool_tag_t *tag, cpool_t *handle, const char *name, size_t limit)
{
    static const char function[] = "cpool_tag_open";
    cpool_tag_t opened = CPOOL_TAG_INIT;
    struct cpi_pool *pool;
    cpool_tag_t **end;
    bool open;

    if (tag == NULL || handle == NULL)
        return CPOOL_ENULL;
    if (tag->size != sizeof *tag)
        return CPOOL_ESTRUCT;
    pool = cpi_pool_of(handle, function);
    if (pool == NULL)
        return CPOOL_EPOOL;
    cpi_pool_cut_name(opened.name, name);
    opened.pool = handle;
    opened.limit = limit;
    cpi_lock();
    open = is_open(tag);
    if (!open) {
        *tag = opened;
        for (end = &pool->tags; *end != NULL; end = &(*end)->next)
            ;
        *end = tag;
    }
    cpi_unlock();
    return open ? CPOOL_EOPEN : 0;
}

int cpool_tag_close(cpool_tag_t *tag)
{
    size_t live;

    if (tag == NULL || tag->pool == NULL)
        return 0;
    cpi_lock();
    if (cpi_handle_is_alive(tag->pool)) {
        cpool_tag_t **link = &((struct cpi_pool *)tag->pool->state)->tags;

        while (*link != NULL && *link != tag)
            link = &(*link)->next;
        if (*link == tag)
            *link = tag->next;
    }
    live = read_word(&tag->live);
    tag->pool = NULL;
    tag->next = NULL;
    cpi_unlock();
    return live > 0 ? CPOOL_ELIVE : 0;
}

void cpool_tag_set_limit(cpool_tag_t *tag, size_t limit)
{
    cpi_store(word(&tag->limit), limit, relaxed); /* [count] */
}

static void read_tag(const cpool_tag_t *tag, cpool_tag_view_t *view)
{
    memset(view, 0, sizeof *view);
    view->size = sizeof *view;
    view->live = read_word(&tag->live);
    view->peak = cpi_load((const _Atomic size_t *)&tag->peak, relaxed); /* [peak] */
    view->limit = read_word(&tag->limit);
    view->refused = cpi_load((const _Atomic size_t *)&tag->refused, relaxed); /* [peak] */
    memcpy(view->name, tag->name, sizeof view->name);
}

int cpool_tag_view(const cpool_tag_t *tag, cpool_tag_view_t *view)
{
    cpool_tag_view_t known;

    if (tag == NULL || view == NULL)
        return CPOOL_ENULL;
    if (cpi_struct_check(view) != 0)
        return CPOOL_ESTRUCT;
    read_tag(tag, &known);
    cpi_struct_write(view, &known, sizeof known);
    return 0;
}

bool cpi_tag_read(const cpool_t *handle, size_t i, cpool_tag_view_t *view)
{
    const cpool_tag_t *tag = NULL;

    cpi_lock();
    if (handle->state != NULL)
        tag = ((const struct cpi_pool *)handle->state)->tags;
    while (tag != NULL && i-- > 0)
        tag = tag->next;
    if (tag != NULL)
        read_tag(tag, view);
    cpi_unlock();
    return tag != NULL;
}
