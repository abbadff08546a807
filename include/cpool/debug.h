/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/debug.h - damage, use after free, double frees and leaks, with the places in the
 * program that they come from.
 *
 * Include it where its functions are called.  <cpool.h> does not.
 *
 * OVERVIEW
 *
 * A pool that is created with CPOOL_CHECKED verifies every operation.  So does every
 * pool of a program that is started with CPOOL_OPTIONS in its environment, without being
 * compiled again:
 *
 *     CPOOL_OPTIONS=checked,fill,sites=8,log=64 ./program
 *
 * Each mistake is reported with the state of the slot, with the threads and the places
 * that took and freed it last, and with the bytes that were overwritten.
 *
 * NOTES
 *
 * The words of CPOOL_OPTIONS are parted by commas or blanks.  The first four, and `chaos`,
 * have a counterpart in cpool_config_t, and the larger of the two settings counts.  The words
 * `fill`, `quarantine`, `sites` and `log` imply `checked`.
 *
 *   checked        as CPOOL_CHECKED
 *   fill           as CPOOL_FILL
 *   quarantine=N   freed slots wait until N others have been freed (256)
 *   sites=N        N return addresses of each slot's last alloc and last free, up to 32
 *                  (8).  More than one takes the GNU C library
 *   log=N          the last N allocs and frees of each pool, which are printed with
 *                  each report (256)
 *   leaks          at the end of the process the live slots of all pools are listed
 *   continue       the default error handler returns instead of aborting
 *   fake           slots and objects come from malloc: as CPOOL_FAKE, in pools that do not
 *                  refuse it, in the place of checks, and as CPOOL_OBJECT_FAKE
 *   chaos=SEED     as CPOOL_CHAOS, with the chances of this seed, 1 to 99999999.  Without
 *                  a number a seed is drawn.  It is written to standard error
 *   refuse=N       one in N requests for memory is refused, by chance (16).  A pool or a
 *                  slot that cannot be had then is refused as by the operating system
 *
 * The number in parentheses is that of the word alone.  A word that is not understood is
 * named on standard error.  A program that runs with more rights than its user, as one
 * with the set-user-ID bit does, ignores the variable.
 *
 * A pool that cannot be had with these settings, because its program provides too little
 * memory for them, is created without, which is said on standard error.
 * cpool_memory_required includes them.
 *
 * In pools with chaos a freed slot waits until others have been freed, fifteen on average,
 * and comes back in no order.  Operations spin, give way and sleep between any two steps
 * of the slow paths, and compare-and-swaps fail once in four times.  Allocs and frees do
 * without the thread's cache, or empty it before its time.  Magazines have few rounds, and
 * the version tags of the depot come round soon.  Memory is committed in small steps.
 * Leases, typed pools and object pools have the same.  A program that uses pools rightly cannot
 * tell the difference, but for the time that it takes and for the figures.  In a program
 * of one thread the seed determines the course.  Among threads it determines the chances.
 *
 * A place in a report is "function+0x12 (module+0x1234)" as far as the module exports the
 * function, followed by the return address.  `addr2line -i -f -e module 0x1234` finds
 * the line of the call, in position-independent programs, too.
 *
 * Fake pools: each alloc of a pool that is created with CPOOL_FAKE gets its slot from malloc,
 * and each free gives it to free().  A tool that knows malloc then sees the first byte before
 * and behind each slot, a use after the free, and leaks, with the calls that took and freed
 * the slot (ASan: fast_unwind_on_malloc=0, because the library keeps no frame pointers).  A
 * program's time with and without `fake` shows what its pools are worth.  Everything else is
 * as without, but for this:
 *
 *   - a slot that is free has no address.  cpool_at, cpool_index and cpool_owns know live
 *     slots only, cpool_around the last ones too.  A free slot is not to be read
 *   - a second free of a slot is reported as CPOOL_EDOUBLEFREE until the pool has made
 *     another one in its place, and then as CPOOL_EFOREIGN or not at all, if malloc has used
 *     the address again
 *   - an alloc returns NULL when malloc does, and the slot is not lost
 *   - bytes that the figures tell are the pool's own, without the blocks.  slot_stride is
 *     slot_size.  cpool_trim, cpool_reserve and cpool_discard do nothing for blocks
 *   - every operation calls malloc or free, or takes a lock, and may block.  None is
 *     async-signal-safe
 *   - cpool_destroy and cpool_reset free the slots that are live.  cpool_of, cpool_around
 *     and cpool_release ask all fake pools first, with a lock held
 *   - cpool_lanes_create refuses CPOOL_FAKE
 *
 * (Fake pools: H. Tulleken, "Design and implementation of object pools", Gamelogic, 2024.)
 *
 * The costs fall on checked pools alone.  They have no inline path, and for each slot 8
 * bytes or more of gap, 8 of state, and 72 and 16 for each site beyond the first.  A
 * backtrace of eight sites takes about a microsecond.
 */
#ifndef CPOOL_DEBUG_H
#define CPOOL_DEBUG_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Looking for damage (cpool_debug.3) --------------------------------------
 */

/*
 * cpool_audit - verifies a whole checked pool: the bytes around every slot, and those of
 * freed slots where the pool fills them.
 *
 * Each damage is reported, as CPOOL_EGUARD or CPOOL_EFREED, and repaired, so that it is
 * found once.
 *
 * Returns the number of reports, 0 for a pool that is not checked.
 * Any thread, beside threads that use the pool.  It may block.  An alloc of the slot that
 * is being looked at waits.  Its cost depends on the number of slots.
 */
CPOOL_API size_t cpool_audit(cpool_t *pool);

/*
 * cpool_verify - verifies one slot.
 *
 * slot   live or free
 *
 * Returns 0, or the code that was reported: CPOOL_EFOREIGN, CPOOL_EMISALIGNED or
 * CPOOL_EUNUSED in any pool, CPOOL_EGUARD or CPOOL_EFREED in a checked one, or
 * CPOOL_EPOOL.
 * Any thread.  It may block.
 */
CPOOL_API int cpool_verify(cpool_t *pool, const void *slot);

/*
 * ---- Live slots and the log (cpool_debug.3) ------------------------------------
 */

/*
 * cpool_print_live - lists the live slots of a checked pool by the place that took them.
 *
 * A line has the number of slots, the place with its callers as far as they are kept, the
 * thread and the address of the oldest slot, and how long the oldest and the youngest
 * have been live.  Places with many slots come first.  Beyond 63 places they are counted
 * together.
 *
 * Returns the number of slots listed, 0 for a pool that is not checked.
 * Any thread, beside threads that use the pool.  It does what the stream does.
 */
CPOOL_API size_t cpool_print_live(cpool_t *pool, FILE *out);

/*
 * cpool_print_log - lists the last allocs and frees of a pool that keeps a log, the
 * oldest first.
 *
 * The default error handler does so after each report.
 *
 * Returns the number of lines.
 * Any thread, an error handler included.  It does what the stream does.
 */
CPOOL_API size_t cpool_print_log(cpool_t *pool, FILE *out);

/*
 * ---- Places in the source (cpool_debug.3) ------------------------------------
 */

/* The place in the source, as text: "file.c:12". */
#define CPOOL_HERE __FILE__ ":" CPOOL_HERE_(__LINE__)
#define CPOOL_HERE_(line) CPOOL_HERE_TEXT_(line)
#define CPOOL_HERE_TEXT_(line) #line

/*
 * cpool_alloc_here, cpool_free_here - as cpool_alloc and cpool_free, and tell a checked
 * pool the place.
 *
 * here   CPOOL_HERE, or any text that stays.  NULL: none
 *
 *     job = cpool_alloc_here(jobs, CPOOL_HERE);
 *     cpool_free_here(jobs, job, CPOOL_HERE);
 *
 * A function that allocates on behalf of others passes its caller's place on.  Reports
 * and lists then show this place before the return address.
 *
 * As cpool_alloc and cpool_free, with a call in any pool.  A pool that does not exist is
 * reported as CPOOL_EPOOL.
 */
CPOOL_API void cpool_free_here(cpool_t *pool, void *slot, const char *here);
CPOOL_API void *cpool_alloc_here(cpool_t *pool, const char *here) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_depot_free);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_DEBUG_H */
