/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/pools.h - the pools of a process: by address, by name, and all of them.
 *
 * OVERVIEW
 *
 *     #include <cpool/pools.h>
 *
 *     cpool_release(particle);                   goes back to its pool, whichever
 *     cpool_print(cpool_of(particle), stderr);   the pool's figures
 *
 * A pool is found by the address of any of its slots, in a time that depends neither on
 * the number of pools nor on their sizes.  So an object can go back without a pointer to
 * its pool, and a report about a stray pointer can name the pool that it leads into.
 *
 * cpool_find knows a pool by its name, cpool_each walks over all of them with their
 * figures, and cpool_print_all shows these.  A tag is a part of one pool: it counts the
 * slots of one subsystem and bounds them.
 *
 * NOTES
 *
 * All of it is about the pools of one copy of the library.  Where a process holds several
 * copies, as when a plug-in has one linked statically, each knows its own pools.
 *
 * In gdb, of processes and of core files, these commands show the same, by reading memory
 * alone.  They come with the library: gdb loads them from beside it, if it trusts that
 * folder (set auto-load safe-path), or from its own folder.  They need the library's debug
 * information.  POOL is a name or an expression:
 *
 *     cpool list               all pools, with live and free slots
 *     cpool show POOL          one of them
 *     cpool whatis ADDRESS     the pool and the slot, whether it is live, and where it lies
 *     cpool caches [POOL]      caches, their threads, and how much they hold
 *     cpool live POOL [COUNT]  the live slots, of checked pools by where they were taken
 *
 * A library that was configured with --enable-probes has static probes (USDT) of the
 * provider libcpool, which tracers attach to while a program runs.  `pool` is a handle:
 *
 *     exchange(depot, taken)    a magazine was taken from the depot, or given: 0
 *     refill(pool, rounds)      a cache was refilled, and has so many slots loaded
 *     spill(pool, spares)       a cache is full, and has so many full spares
 *     growth(pool, capacity)    the capacity was raised to this
 *     recall(pool, found)       the pool was dry, and slots were sought in other caches
 *     wait(pool, deadline)      a thread goes to sleep until a slot is free
 *     report(code, text)        a mistake of the caller is reported
 *
 * One line for each, with the path of the library in place of LIB:
 *
 *     bpftrace -e 'usdt:LIB:libcpool:exchange { @[arg0, arg1] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:refill { @[tid, arg0] = hist(arg1); }'
 *     bpftrace -e 'usdt:LIB:libcpool:spill { @[tid, arg0] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:growth { printf("%p %d\n", arg0, arg1); }'
 *     bpftrace -e 'usdt:LIB:libcpool:recall { @[ustack, arg0] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:wait { @[ustack, arg0] = count(); }'
 *     bpftrace -e 'usdt:LIB:libcpool:report { printf("%s\n%s", str(arg1), ustack); }'
 *
 * Reference: the tree of addresses is that of page tables.  Entries of its upper levels
 * stand for whole ranges, as large pages do.
 */
#ifndef CPOOL_POOLS_H
#define CPOOL_POOLS_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Pools by address (cpool_of.3) ------------------------------------------
 */

/*
 * cpool_of - the pool of a slot.
 *
 * slot   any address.  The slot may be live, free or never used
 *
 * Returns the pool in which a slot begins at this address, or NULL if there is none.  It
 * may lie in a slot of another pool.
 *
 * Other pools may be created and destroyed meanwhile.  While the pool itself is being
 * destroyed, the result is the pool or NULL.
 * Any thread, wait-free, async-signal-safe.  A dozen dependent loads at most.  In a process
 * with fake pools it may block, and finds their live slots only.
 */
CPOOL_API cpool_t *cpool_of(const void *slot);

/*
 * cpool_around - the pool and the slot that an address lies in.
 *
 * address   any address: of a slot, inside a slot, or in the bytes between two slots,
 *           which count to the slot before them
 * slot      receives the address of the slot, or NULL if there is none.  It may be NULL
 *
 * Returns the pool, or NULL.  With a pool in a slot of another pool it is the inner one for
 * addresses among the inner one's slots, and the outer one for the rest.
 * Progress as cpool_of for addresses in slots.  For other addresses in the memory of a pool
 * all pools may be looked through.
 */
CPOOL_API cpool_t *cpool_around(const void *address, void **slot);

/*
 * cpool_release - cpool_free, on the pool of the slot.
 *
 * slot   from an alloc on any pool, not freed since.  NULL is a no-op
 *
 * Verified as by cpool_free.  An address inside a slot is reported as CPOOL_EMISALIGNED, and
 * one in no pool as CPOOL_EFOREIGN.
 * Any thread, progress as cpool_free.
 */
CPOOL_API void cpool_release(void *slot);

/*
 * ---- All pools (cpool_each.3) ------------------------------------------------
 */

/* How a pool came to be. */
#define CPOOL_VIEW_TYPED 0x1u
#define CPOOL_VIEW_CALLERS 0x2u

/*
 * A pool as cpool_each sees it.  Later versions may add members at the end.
 */
typedef struct cpool_view {
    size_t size;                /* bytes that the library has filled in */
    cpool_t *pool;              /* its handle */
    const char *name;           /* its name, "" if it has none */
    const cpool_stats_t *stats; /* its figures */
    unsigned flags;             /* its CPOOL_ flags, those of CPOOL_OPTIONS included */
    unsigned kind;              /* CPOOL_VIEW_TYPED for a typed pool, CPOOL_VIEW_CALLERS
                                   for one in caller-provided memory */
    void *first;                /* its slot 0 */
    size_t slots;               /* slots that have an address, as cpool_index_limit */
    uint64_t number;            /* pools that the process created before it */
} cpool_view_t;

/*
 * cpool_each - calls a function for each pool of the process.
 *
 * visit   gets a copy of the pool's name and figures, which is its own until it returns.
 *         It may use any function, on this pool and on others, and create and destroy
 *         pools.  It returns false to end the walk.  It may leave by longjmp or by an
 *         exception
 * arg     passed to it
 *
 * A pool that exists throughout the walk is visited once.  One that is created or destroyed
 * meanwhile may be visited or not.  Where another thread may destroy a pool, the visitor
 * keeps to the copy.
 *
 * Returns the number of pools visited.
 * Any thread.  It may block, but not while the visitor runs.
 */
CPOOL_API size_t cpool_each(bool (*visit)(const cpool_view_t *view, void *arg), void *arg)
    CPOOL_NONNULL_(1);

/*
 * cpool_find - the pool of a name.
 *
 * name   compared as far as pools keep their names: whole characters of 31 bytes at most
 *
 * Returns the pool that was created first of those with this name, or NULL.  The program
 * sees to it that the pool is not destroyed while it is used.
 * Any thread.  It may block.  Its time depends on the number of pools.
 */
CPOOL_API cpool_t *cpool_find(const char *name);

/*
 * cpool_print_all, cpool_print_json_all - write the figures of all pools, for a person or
 * for a program.
 *
 * JSON is one object in one line: the library's version as `version`, and `pools`, an array
 * of what cpool_print_json writes.  doc/JSON.md says what each member means.  Members are
 * added in later versions, and none is removed or changed.
 *
 * Nothing is written to a NULL stream.  Progress as cpool_each, and does what the stream
 * does.
 */
CPOOL_API void cpool_print_all(FILE *out);
CPOOL_API void cpool_print_json_all(FILE *out);

/*
 * ---- Parts of one pool (cpool_tag.3) -----------------------------------------
 *
 * Several subsystems share a pool, and each may have so many slots at most, so that none of
 * them starves the rest:
 *
 *     static cpool_tag_t network = CPOOL_TAG_INIT;
 *
 *     cpool_tag_open(&network, buffers, "network", 400);
 *     buffer = cpool_tag_alloc(&network);        NULL beyond 400 live ones
 *     cpool_tag_free(&network, buffer);
 *
 * Limits that add up to the capacity of a pool created with CPOOL_EXACT give each tag a
 * share that nobody else can take.  Limits that add up to more let the tags share what is
 * free.
 *
 * Counts are exact at any moment: a tag never has more slots live than its limit.  The
 * price is a compare-and-swap for each operation, on words that all users of the tag share.
 * A bulk operation pays it once.  Pools without tags, and operations without one, pay
 * nothing.
 *
 * A slot goes back through the tag by which it was taken.  The pool does not know the tags
 * of slots: a slot that goes back in another way stays on the tag's account.  cpool_reset
 * clears the accounts of all tags.
 */

/* A tag.  Its members are the library's. */
typedef struct cpool_tag {
    size_t size;            /* sizeof(cpool_tag_t), set by the initialiser */
    cpool_t *pool;          /* NULL: not open */
    struct cpool_tag *next; /* of the same pool */
    size_t live;            /* atomic, as the three below */
    size_t limit;
    size_t peak;
    size_t refused;
    char name[32];
} cpool_tag_t;

#define CPOOL_TAG_INIT                                                         \
    {                                                                          \
        sizeof(cpool_tag_t), NULL, NULL, 0, 0, 0, 0, {0}                       \
    }

/* A tag's figures. */
typedef struct cpool_tag_figures {
    size_t size;    /* sizeof(cpool_tag_view_t), set by the initialiser */
    size_t live;    /* slots taken and not given back */
    size_t peak;    /* the most there ever were */
    size_t limit;   /* as many as there may be */
    size_t refused; /* slots that were asked for beyond the limit */
    char name[32];  /* its name */
} cpool_tag_view_t;

#define CPOOL_TAG_VIEW_INIT                                                    \
    {                                                                          \
        sizeof(cpool_tag_view_t), 0, 0, 0, 0, {0}                              \
    }

/*
 * cpool_tag_open - begins a tag of a pool.
 *
 * tag     from CPOOL_TAG_INIT, or closed.  It stays where it is, and in use, until it is
 *         closed or the pool is destroyed
 * name    for figures and reports, copied as a pool's.  It may be NULL
 * limit   slots that may be live by this tag
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ESTRUCT, CPOOL_EOPEN if the tag is open, or CPOOL_EPOOL,
 * which is reported.
 * Any thread.  It may block.
 */
CPOOL_API int cpool_tag_open(cpool_tag_t *tag, cpool_t *pool, const char *name, size_t limit)
    CPOOL_MUST_USE_;

/*
 * cpool_tag_close - ends a tag.
 *
 * tag   not in use by any thread.  NULL, and one that is not open, are no-ops
 *
 * Before the pool is destroyed, or after.  Returns 0, or CPOOL_ELIVE if slots of it were
 * live, which go on to be the pool's.  It may block.
 */
CPOOL_API int cpool_tag_close(cpool_tag_t *tag);

/*
 * cpool_tag_alloc, cpool_tag_alloc_bulk - cpool_alloc and cpool_alloc_bulk, within the limit.
 *
 * Returns the slot, or how many there are.  NULL, or fewer, when the limit or the pool has
 * no more.
 * Any thread, progress as cpool_alloc.
 */
CPOOL_API void *cpool_tag_alloc(cpool_tag_t *tag) CPOOL_MUST_USE_ CPOOL_NONNULL_(1);
CPOOL_API size_t cpool_tag_alloc_bulk(cpool_tag_t *tag, void **slots, size_t n) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_tag_free, cpool_tag_free_bulk - cpool_free and cpool_free_bulk, of slots that were
 * taken by this tag.
 *
 * Slots that the pool refuses stay on the tag's account.  CPOOL_EDOUBLEFREE is reported as
 * well when more slots go back than the tag has live.
 * Any thread, progress as cpool_free.
 */
CPOOL_API void cpool_tag_free(cpool_tag_t *tag, void *slot) CPOOL_NONNULL_(1);
CPOOL_API void cpool_tag_free_bulk(cpool_tag_t *tag, void *const *slots, size_t n)
    CPOOL_NONNULL_(1);

/*
 * cpool_tag_take, cpool_tag_give - the account alone, for slots that are taken and given
 * back in other ways: by a typed pool, a cache, a ticket, or with waiting.
 *
 *     struct job *job = cpool_tag_take(&tag, 1) == 1 ? jobs_alloc() : NULL;
 *
 * n   slots that are about to be taken, or that have been given back or not been had
 *
 * take returns how many may be taken: n, or fewer where the limit leaves no more.
 * Any thread, lock-free.
 */
CPOOL_API size_t cpool_tag_take(cpool_tag_t *tag, size_t n) CPOOL_MUST_USE_ CPOOL_NONNULL_(1);
CPOOL_API void cpool_tag_give(cpool_tag_t *tag, size_t n) CPOOL_NONNULL_(1);

/*
 * cpool_tag_set_limit - changes the limit.
 *
 * limit   slots from now on.  With fewer than are live none is had until enough are back
 *
 * Any thread, wait-free.
 */
CPOOL_API void cpool_tag_set_limit(cpool_tag_t *tag, size_t limit) CPOOL_NONNULL_(1);

/*
 * cpool_tag_view - reads a tag's figures, which start from CPOOL_TAG_VIEW_INIT.
 *
 * Returns 0, CPOOL_ENULL or CPOOL_ESTRUCT.  Any thread, wait-free.
 */
CPOOL_API int cpool_tag_view(const cpool_tag_t *tag, cpool_tag_view_t *view);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_POOLS_H */
