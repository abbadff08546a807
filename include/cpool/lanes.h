/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/lanes.h - a pool that hands out the same slots in every run, for lockstep and replay.
 *
 * OVERVIEW
 *
 * In an ordinary pool the slot that an alloc returns depends on the other threads.  A
 * simulation that runs in lockstep on several machines, or is replayed from a log,
 * needs the same slots each time.  Here each logical thread has a lane with its own free
 * slots:
 *
 *     cpool_lanes_config_t config = CPOOL_LANES_CONFIG_INIT;
 *
 *     config.slots = &units;                              as for cpool_create
 *     config.lanes = 4;
 *     if (cpool_lanes_create(&lanes, &config) != 0)
 *         ...
 *     struct unit *unit = cpool_lane_alloc(lanes, worker);     in each job
 *     ...
 *     cpool_lane_free(lanes, worker, unit);
 *     ...
 *     cpool_lanes_balance(lanes);                         at the end of each tick
 *
 * NOTES
 *
 * The promise: the slots that a lane hands out depend on the calls on this lane since the
 * last balance, with the slots freed into it, and on the state after that balance.
 * They do not depend on the other lanes' calls, on the processors, or on the calling
 * thread.  A slot freed into a lane belongs to that lane from then on, whichever lane it
 * was taken from, and is the first to be handed out again.  So if each lane
 * makes the same sequence of calls with the same slots, and balances happen between the same
 * calls, every slot has the same index in every run.  Addresses differ from process to
 * process.  cpool_index on cpool_lanes_pool returns the index.
 *
 * The refusal: a lane never takes a slot from another one by itself, because the result
 * would depend on which lane came first.  An empty lane returns NULL while other lanes have
 * free slots.  Pools with lanes do not grow.
 *
 * A state is saved and loaded as bytes: a program that has simulated ahead on a wrong guess goes
 * back, and a machine that joins late begins with the state of another one.
 *
 * The cost: 4 bytes and a bit for each slot, and a cache line for each lane.  An alloc is a
 * few loads and stores, and a free is one compare-and-swap on a word of the slot.  All memory
 * of the pool is committed at creation, and the slots are not touched.  A balance reads each
 * slot's word.  The pool counts all slots as live, and sanitizers do not see the lanes' frees.
 *
 * What is in the slots: a program that saves it by copying all slots at once, from that of index 0
 * to the last one, creates the lanes with CPOOL_NO_POISON.  The bytes between slots are
 * poisoned otherwise where AddressSanitizer runs, which takes the copy for a use-after-poison.
 *
 * One thread at a time uses a lane.  The program synchronises threads that pass slots on.
 */
#ifndef CPOOL_LANES_H
#define CPOOL_LANES_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool with lanes. */
typedef struct cpool_lanes cpool_lanes_t;

/* The configuration.  Start from CPOOL_LANES_CONFIG_INIT. */
typedef struct cpool_lanes_config {
    size_t size;                 /* sizeof(cpool_lanes_config_t), set by the initialiser */
    const cpool_config_t *slots; /* as for cpool_create.  max_capacity must be 0 or the capacity.
                                    CPOOL_TRACKED and CPOOL_CHECKED are refused */
    size_t lanes;                /* 1 to capacity.  At first all have the same number of slots,
                                    but the first ones one more if that does not divide the
                                    capacity */
} cpool_lanes_config_t;

#define CPOOL_LANES_CONFIG_INIT                                                        \
    {                                                                                  \
        sizeof(cpool_lanes_config_t), NULL, 0                                          \
    }

/*
 * ---- Lanes (cpool_lanes.3) -------------------------------------------------
 */

/*
 * cpool_lanes_create - makes a pool with lanes.
 *
 * lanes    receives it, set to NULL on failure
 * config   copied, need not outlive the call
 *
 * Returns 0, CPOOL_ENULL, CPOOL_EFLAGS, CPOOL_ECAPACITY, also for a wrong number
 * of lanes, or the code of cpool_create.
 * Any thread.  It may block and makes system calls.  Its cost is proportional to the number
 * of slots.
 */
CPOOL_API int cpool_lanes_create(cpool_lanes_t **lanes, const cpool_lanes_config_t *config)
    CPOOL_MUST_USE_;

/*
 * cpool_lanes_destroy - gives everything back, live slots too.
 *
 * lanes   no thread may be using them, or use them later.  NULL is a no-op
 *
 * Returns 0, CPOOL_ELIVE when slots were live, or a code of cpool_destroy.
 * It may block and makes system calls.
 */
CPOOL_API int cpool_lanes_destroy(cpool_lanes_t *lanes);

/*
 * cpool_lane_alloc - takes a slot from a lane.
 *
 * lane   its number.  The first one is 0
 *
 * Returns the slot last freed into the lane, else the slot with the lowest index of those
 * that the last balance gave it.  Returns NULL if the lane has none,
 * or there is no such lane.
 * The lane's user, wait-free.
 */
CPOOL_API void *cpool_lane_alloc(cpool_lanes_t *lanes, size_t lane) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_lane_free - gives a slot to a lane, whichever lane it was taken from.
 *
 * slot   from an alloc on a lane of the same pool.  NULL is a no-op
 *
 * A mistake is reported, and changes nothing: CPOOL_EFOREIGN or CPOOL_EMISALIGNED for an address
 * that is not a slot, CPOOL_EDOUBLEFREE for a free slot, or CPOOL_ECAPACITY for a number that no
 * lane has.  If several lanes free a slot at once, all calls but one are reported.
 * The lane's user, wait-free.
 */
CPOOL_API void cpool_lane_free(cpool_lanes_t *lanes, size_t lane, void *slot) CPOOL_NONNULL_(1);

/*
 * cpool_lanes_balance - deals all free slots out again, evenly.
 *
 * The free slots go to the lanes in order of index, the lowest to lane 0.  The result depends
 * on which slots are free, and on nothing else.  No thread may use a lane meanwhile.
 *
 * Returns the number of free slots.
 * Wait-free.  Its cost is proportional to the number of slots.
 */
CPOOL_API size_t cpool_lanes_balance(cpool_lanes_t *lanes) CPOOL_NONNULL_(1);

/*
 * CPOOL_LANES_STATE_SIZE - the bytes of the state of lanes with this capacity and this number.
 *
 * A constant of type size_t if both are constants.
 */
#define CPOOL_LANES_STATE_SIZE(capacity, lanes)                                        \
    (sizeof(uint32_t) * (6u + CPOOL_NUMBER_(size_t, capacity) + 2u * CPOOL_NUMBER_(size_t, lanes)))

/*
 * cpool_lanes_save - writes down which slots are live, and which lane has the others in which
 * order.
 *
 * state   receives CPOOL_LANES_STATE_SIZE bytes, at any address.  They hold no address, and
 *         mean the same in another process and on a machine of another byte order
 * size    bytes there
 *
 * What is in the slots is the program's own to save.  No thread may use a lane meanwhile.
 *
 * Returns 0, CPOOL_ENULL, or CPOOL_ESTRUCT if the size is too small.
 * Wait-free.  Its cost is proportional to the number of slots.
 */
CPOOL_API int cpool_lanes_save(const cpool_lanes_t *lanes, void *state, size_t size)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_lanes_load - goes back, or on, to a state that was saved.
 *
 * state   from cpool_lanes_save, on these lanes or on others with the same capacity and number
 *         of lanes
 * size    its bytes
 *
 * From then on the same calls get the same slots as after the save.  A slot is live exactly
 * if it was then.  No thread may use a lane meanwhile.
 *
 * Returns 0, CPOOL_ENULL, or CPOOL_ESTRUCT with nothing changed: the bytes are damaged, or the
 * state of other lanes.
 * Wait-free.  It follows all lanes from slot to slot before it changes anything.
 */
CPOOL_API int cpool_lanes_load(cpool_lanes_t *lanes, const void *state, size_t size)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_lanes_pool - the pool of the slots, for cpool_index, cpool_at, cpool_owns and the like.
 *
 * The lanes own its slots: functions that allocate or free slots, or change their number,
 * report it as CPOOL_EPOOL.
 * Any thread, wait-free.
 */
CPOOL_LOCAL_ cpool_t *cpool_lanes_pool(const cpool_lanes_t *lanes) CPOOL_NONNULL_(1);

CPOOL_LOCAL_ cpool_t *cpool_lanes_pool(const cpool_lanes_t *lanes)
{
    const void *first = lanes; /* the pool of slots is the first word */

    return *CPOOL_CAST_(cpool_t *const *, first);
}

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_LANES_H */
