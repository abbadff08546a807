/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.c - frames: slots that go back together.
 *
 *   a frame                                     magazines of the depot
 *   first           next             end
 *   [ s s s s s s s |  -  -  -  -  -  ]   full -> [ s s s s ... s ] -> [ s s s s ... s ]
 *
 * When the record is full, its slots move to an empty magazine of the depot, in front of the
 * frame's other magazines.  doc/CONCURRENCY.md 7.3 says why there is one, and what a fork finds.
 *
 * Invariants
 * Every slot on record is live, and recorded once.  A closed frame is empty, and has neither a pool
 * nor an owner.
 *
 * ORDERING TABLE
 *   claim  | open CAS that sets a bit     | acquire | close  | the frame, which was closed
 *   close  | open fetch-and that clears it | release | claim  | all that the owner did
 *   peek   | open load, CAS failure; begun fetch-and-add | relaxed | - | -
 *   made   | frames store                 | release | see    | the frames, all closed
 *   see    | frames load                  | acquire | made   | the frames
 *   alone  | frames load and store, open store, while nobody uses the pool | relaxed | - | -
 *   record | next and full store          | release | the child of a fork | the slots below, or
 *                                                      that they have left
 *   room   | entry limit load            | relaxed | reclaim.c's barrier | closed, or not
 *   link   | link store of a magazine     | relaxed | - | -
 *
 * A frame has one owner at a time, so its members need order only for the child of a fork.  A slot
 * that goes back is published like a freed one.
 */
#include <cpool/frame.h>

#include "pool/pool.h"

#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/tools.h"
#include "host/os.h"
#include "pool/alloc.h"
#include "pool/report.h"

/* --- The frames of a pool --- */

/* In a page that is never unmapped, so that the use of an ended frame is recognised. */
struct cpi_frames {
    _Atomic uint32_t open;   /* a bit for each open frame */
    _Atomic uint32_t begun;  /* frames begun so far, in pools that are not plain */
    void **records;          /* constant: the records of all frames, one after the other */
    struct cpi_frames *next; /* in the list of those without a pool, guarded by the lock */
    _Alignas(CPI_LINE) struct cpool_frame frame[CPOOL_FRAMES_MAX];
};

static struct cpi_frames *unused_frames; /* guarded by the lock */

static size_t records_size(const struct cpi_pool *pool)
{
    return CPOOL_FRAMES_MAX * pool->depot.limit * sizeof(void *);
}

CPI_COLD static void end_frames(struct cpi_pool *pool)
{
    struct cpi_frames *frames = cpi_load(&pool->frames, relaxed); /* [alone] */
    bool locked;

    memset(frames->frame, 0, sizeof frames->frame);
    cpi_store(&frames->open, 0, relaxed); /* [alone] */
    cpi_os_release(frames->records, records_size(pool));
    cpi_pool_note_calls(pool, 1);
    pool->end_frames = NULL;
    cpi_store(&pool->frames, NULL, relaxed); /* [alone] */
    locked = cpi_lock_unless_held();
    frames->next = unused_frames;
    unused_frames = frames;
    cpi_unlock_if(locked);
}

/* With the lock held. */
static struct cpi_frames *make_frames(struct cpi_pool *pool)
{
    struct cpi_frames *frames = unused_frames;

    cpi_pool_note_calls(pool, 1);
    if (frames == NULL)
        frames = unused_frames = cpi_os_map(sizeof *frames);
    if (frames == NULL || (frames->records = cpi_os_map(records_size(pool))) == NULL)
        return NULL;
    unused_frames = frames->next;
    pool->end_frames = end_frames;
    cpi_store(&pool->frames, frames, release); /* [made] */
    return frames;
}

static struct cpi_frames *frames_of(struct cpi_pool *pool)
{
    struct cpi_frames *frames = cpi_load(&pool->frames, acquire); /* [see] */

    if (CPI_UNLIKELY(frames == NULL)) {
        cpi_lock();
        frames = cpi_load(&pool->frames, acquire); /* [see] */
        if (frames == NULL)
            frames = make_frames(pool);
        cpi_unlock();
    }
    return frames;
}

void cpi_frame_each(const cpool_t *handle, void (*visit)(cpool_frame_t *frame, void *arg),
                    void *arg)
{
    struct cpi_pool *pool = handle->state;
    struct cpi_frames *frames = cpi_load(&pool->frames, relaxed); /* [alone] */

    for (unsigned i = 0; frames != NULL && i < CPOOL_FRAMES_MAX; i++)
        if (frames->frame[i].pool != NULL)
            visit(&frames->frame[i], arg);
}

/* The pool of an open frame, which must be this typed pool's unless `typed` is NULL.  NULL after a
 * report. */
static struct cpi_pool *pool_of(const cpool_frame_t *frame, const struct cpool_typed *typed,
                                const char *function)
{
    cpool_error_t error = {
        .code = CPOOL_EFRAME, .function = function, .name = "", .address = frame};

    if (CPI_LIKELY(frame->pool != NULL) &&
        (typed == NULL || CPI_LIKELY(frame->pool == cpi_typed_opened(typed))))
        return frame->pool->state;
    cpool_client_report(&error, "%s: %s (frame %p)", function, cpool_strerror(CPOOL_EFRAME),
                        (const void *)frame);
    return NULL;
}

/* --- Beginning and closing --- */

/* How far the inline path may record.  That of a typed pool would not notice a sampled slot. */
static void **inline_end(const cpool_frame_t *frame, const struct cpi_pool *pool)
{
    bool is_inline = cpi_pool_is_plain(pool) && (pool->samples == NULL || pool->typed == NULL);

    return is_inline ? frame->first + pool->depot.limit : NULL;
}

/* Opens a closed frame, or returns NULL.  Pools that are not plain use all frames in turn, so that
 * the use of an ended frame is detected for longer. */
static cpool_frame_t *open_frame(struct cpi_frames *frames, const struct cpi_pool *pool)
{
    bool in_turn = !cpi_pool_is_plain(pool);
    uint32_t first = in_turn ? cpi_fetch_add(&frames->begun, 1u, relaxed) : 0; /* [peek] */
    uint32_t open = cpi_load(&frames->open, relaxed);                          /* [peek] */
    cpool_frame_t *frame;
    uint32_t later;
    unsigned i;

    do {
        if (open == UINT32_MAX)
            return NULL;
        later = ~open & UINT32_MAX << first % CPOOL_FRAMES_MAX;
        i = (unsigned)__builtin_ctz(later != 0 ? later : ~open);
    } while (!cpi_cas_weak(&frames->open, &open, open | (uint32_t)1 << i, /* [claim] */
                           acquire, relaxed));                            /* [peek] */
    frame = &frames->frame[i];
    frame->first = frame->next = frames->records + (size_t)i * pool->depot.limit;
    frame->end = inline_end(frame, pool);
    frame->state = frames;
    frame->pool = pool->handle;
    return frame;
}

static void close_frame(cpool_frame_t *frame)
{
    struct cpi_frames *frames = frame->state;

    frame->pool = NULL;
    frame->end = NULL;
    frame->owner = NULL;
    cpi_fetch_and(&frames->open, ~((uint32_t)1 << (frame - frames->frame)), release); /* [close] */
}

int cpool_frame_begin(cpool_frame_t **frame, cpool_t *handle)
{
    struct cpi_pool *pool;
    struct cpi_frames *frames;

    if (frame == NULL)
        return CPOOL_ENULL;
    *frame = NULL;
    cpi_tools_wrote(frame, sizeof(cpool_frame_t *));
    if (handle == NULL)
        return CPOOL_ENULL;
    pool = cpi_pool_of(handle, "cpool_frame_begin");
    if (pool == NULL)
        return CPOOL_EPOOL;
    frames = frames_of(pool);
    if (frames == NULL)
        return CPOOL_ENOMEM;
    *frame = open_frame(frames, pool);
    return *frame != NULL ? 0 : CPOOL_ELIMIT;
}

/* --- The record --- */

/* Gives a magazine to the depot, as full or empty as its count says, or takes an empty one if
 * `node` is 0.  Meanwhile the thread is inside its cache, or in flight at the depot. */
static uint32_t exchange_magazine(struct cpi_pool *pool, uint32_t node)
{
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    struct cpi_uncached uncached;
    struct cpi_counters *counters = CPI_LIKELY(cache != NULL) ? &cache->counters
                                                              : &uncached.counters;

    if (CPI_LIKELY(cache != NULL))
        cpi_cache_enter(cache, cpi_cache_active(cache));
    else
        cpi_depot_enter(&pool->depot, &uncached);
    if (node != 0)
        cpi_depot_give(&pool->depot, counters, node);
    else
        node = cpi_depot_take_empty(&pool->depot, counters);
    if (CPI_LIKELY(cache != NULL))
        cpi_cache_leave(cache, cpi_cache_active(cache));
    else
        cpi_depot_leave(&pool->depot, &uncached);
    return node;
}

static void set_next(cpool_frame_t *frame, void **next)
{
    cpi_word_store((uintptr_t *)(void *)&frame->next, (uintptr_t)next, release); /* [record] */
}

static void set_full(cpool_frame_t *frame, uint32_t node)
{
    cpi_word_store(&frame->full, node, release); /* [record] */
}

static bool is_frame_empty(const cpool_frame_t *frame)
{
    return frame->next == frame->first && frame->full == 0;
}

/* Moves a full record into an empty magazine.  Returns false if there is none, because more slots
 * were freed than handed out. */
CPI_COLD static bool stash_record(struct cpi_pool *pool, cpool_frame_t *frame)
{
    struct cpi_depot *depot = &pool->depot;
    uint32_t node = exchange_magazine(pool, 0);
    struct cpi_magazine *magazine;

    if (node == 0)
        return false;
    magazine = cpi_depot_magazine(depot, node);
    set_next(frame, frame->first);
    cpi_tools_ignore(true);
    memcpy(magazine->rounds, frame->first, depot->limit * sizeof(void *));
    cpi_tools_ignore(false);
    cpi_magazine_set_count(magazine, depot->limit);
    cpi_store(cpi_link(&depot->links, node), (uint32_t)frame->full, relaxed); /* [link] */
    set_full(frame, node);
    return true;
}

/* Takes the first of the frame's magazines, which then belongs to the caller. */
static uint32_t unchain_top(const struct cpi_depot *depot, cpool_frame_t *frame)
{
    uint32_t node = (uint32_t)frame->full;

    set_full(frame, cpi_tagstack_below(&depot->links, node));
    return node;
}

/* A frame with a sampled slot (check/samples.h) goes back one by one. */
static int record_slot(struct cpi_pool *pool, cpool_frame_t *frame, void *slot, uintptr_t index)
{
    if (CPI_UNLIKELY(frame->next == frame->first + pool->depot.limit) &&
        !stash_record(pool, frame))
        return CPOOL_EDOUBLEFREE;
    if (CPI_UNLIKELY(pool->checked) &&
        !cpi_record_enter_frame(&pool->slab, index))
        return CPOOL_EFRAMED;
    if (CPI_UNLIKELY(slot != cpi_slab_slot(&pool->slab, index)))
        frame->end = NULL;
    *frame->next = slot;
    set_next(frame, frame->next + 1);
    return 0;
}

void *cpi_frame_take_back(cpool_frame_t *frame)
{
    struct cpi_pool *pool = frame->pool->state;
    uintptr_t index;
    void *slot;

    if (is_frame_empty(frame))
        return NULL;
    if (frame->next == frame->first) {
        uint32_t node = unchain_top(&pool->depot, frame);
        struct cpi_magazine *magazine = cpi_depot_magazine(&pool->depot, node);

        cpi_tools_ignore(true);
        memcpy(frame->first, magazine->rounds, pool->depot.limit * sizeof(void *));
        cpi_tools_ignore(false);
        set_next(frame, frame->first + pool->depot.limit);
        cpi_magazine_set_count(magazine, 0);
        exchange_magazine(pool, node);
    }
    slot = frame->next[-1];
    set_next(frame, frame->next - 1);
    if (CPI_UNLIKELY(pool->checked) && cpi_pool_place(pool, slot, &index) == 0)
        cpi_record_leave_frame(&pool->slab, index);
    return slot;
}

/* --- Obtaining --- */

void *cpool_frame_alloc_abi1(cpool_frame_t *frame, const struct cpool_typed *typed)
{
    const struct cpi_call call = CPI_CALL("cpool_frame_alloc");
    struct cpi_pool *pool = pool_of(frame, typed, call.function);
    struct cpi_cache *cache;
    uintptr_t index;
    void *slot;

    if (pool == NULL)
        return NULL;
    cache = cpi_registry_own_cache(&pool->registry);
    slot = cpi_pool_alloc(pool, cache, call);
    if (slot == NULL || (cpi_pool_place(pool, slot, &index) == 0 &&
                         CPI_LIKELY(record_slot(pool, frame, slot, index) == 0)))
        return slot;
    cpi_pool_free(pool, cache, slot, call);
    return NULL;
}

int cpool_frame_adopt(cpool_frame_t *frame, void *slot)
{
    static const char function[] = "cpool_frame_adopt";
    struct cpi_pool *pool = pool_of(frame, NULL, function);
    uintptr_t index;
    int code;

    if (pool == NULL)
        return CPOOL_EFRAME;
    if (slot == NULL)
        return 0;
    code = cpi_pool_judge(pool, slot, function, &index);
    if (code != 0)
        return code;
    if (pool->map.words != NULL)
        code = cpi_pool_retired(pool, index, CPOOL_CLIENT_ASKED); /* is it live? */
    if (code == 0)
        code = record_slot(pool, frame, slot, index);
    if (code != 0)
        cpi_pool_report_slot(code, function, pool, index);
    return code;
}

/* --- Giving slots back --- */

/* Moves the slots of the record into the loaded magazine of this entry, which has `count` rounds.
 * Returns false if there is no room, or the entry is closed, or both record and magazine are empty.
 * Closes the frame first if it `ends`, because other threads may take the slots afterwards and
 * destroy the pool. */
CPI_WITHIN static inline bool push_record(cpool_frame_t *frame, cpool_cache_t *entry,
                                          uintptr_t count, uintptr_t limit, bool ends)
{
    size_t n = (size_t)(frame->next - frame->first);
    bool pushed = CPI_LIKELY(count + n - 1 < limit);

    if (pushed) {
        set_next(frame, frame->first);
        memcpy(entry->rounds + count, frame->first, n * sizeof(void *));
        count += n;
        if (ends)
            close_frame(frame);
    }
    cpi_cache_unmark(entry, count);
    return pushed;
}

/* The inline path of a free, once for all slots, if the frame has no magazine. */
CPI_WITHIN static inline bool give_near(cpool_frame_t *frame, bool ends)
{
    cpool_cache_t *entry;
    uintptr_t count;

    if (CPI_UNLIKELY(frame->end == NULL) || CPI_UNLIKELY(frame->full != 0))
        return false;
    entry = cpi_thread_entry(frame->pool);
    CPOOL_ENTER_(entry, count);
    count &= ~CPI_BUSY;
    return push_record(frame, entry, count, cpi_word_load(&entry->limit, relaxed), /* [room] */
                       ends);
}

/* Does the same in any plain pool, without closing the frame.  The free of the last slot calls
 * waiters. */
static bool give_inside(struct cpi_pool *pool, cpool_frame_t *frame)
{
    const struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    cpool_cache_t *active;
    uintptr_t count;

    if (cache == NULL)
        return false;
    active = cpi_cache_active(cache);
    count = cpi_entry_count(active);
    return push_record(frame, active, count, cpi_cache_mark(cache, active, count), false);
}

static void give_one(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    cpi_pool_mend_slot(pool, slot, call.function);
    cpi_pool_free(pool, cpi_registry_own_cache(&pool->registry), slot, call);
}

/* A plain pool gets its magazines whole, and others get their slots one by one, each with its word
 * and record.  The last slot comes last (doc/CONCURRENCY.md 7.3). */
CPI_APART static void give_at_length(cpool_frame_t *frame, bool ends, struct cpi_call call)
{
    struct cpi_pool *pool = pool_of(frame, NULL, call.function);
    bool plain;
    void *slot;

    if (pool == NULL)
        return;
    plain = cpi_pool_is_plain(pool) && frame->end != NULL;
    slot = cpi_frame_take_back(frame);
    while (!is_frame_empty(frame)) {
        if (plain && frame->full != 0) {
            exchange_magazine(pool, unchain_top(&pool->depot, frame));
            cpi_waiters_came(&pool->waiters);
        } else if (!plain || !give_inside(pool, frame)) {
            give_one(pool, slot, call);
            slot = cpi_frame_take_back(frame);
        }
    }
    if (ends)
        close_frame(frame);
    else
        frame->end = inline_end(frame, pool); /* a sampled slot is gone */
    if (slot != NULL)
        give_one(pool, slot, call);
}

void cpool_frame_end(cpool_frame_t *frame)
{
    if (frame != NULL && CPI_UNLIKELY(!give_near(frame, true)))
        give_at_length(frame, true, CPI_CALL("cpool_frame_end"));
}

void cpool_frame_reset(cpool_frame_t *frame)
{
    if (frame != NULL && CPI_UNLIKELY(!give_near(frame, false)))
        give_at_length(frame, false, CPI_CALL("cpool_frame_reset"));
}
