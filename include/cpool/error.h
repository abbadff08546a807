/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/error.h - codes, their meanings, and the handler of mistakes.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_ERROR_H
#define CPOOL_ERROR_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/error.h>"
#endif

/*
 * ---- Errors and their codes (cpool_error.3) ------------------------------
 *
 * Functions that can fail return 0 or one of these codes, all negative.  The hundreds tell what to
 * do about a code:
 *
 *   -1 to -99      configuration: a structure or an argument is wrong.  Correct the
 *                  program, or the user's settings
 *   -101 to -199   use: a mistake of the caller, found while a pool is in use.
 *                  Most of these reach the error handler (cpool_set_error_handler)
 *   -201 to -299   resources: the program is right.  Try with less, or later
 */
enum {
    CPOOL_OK = 0,

    CPOOL_ESTRUCT = -1,   /* the size member of a structure is wrong, or it has a setting that this
                             library does not know, or bytes are not a state of these lanes */
    CPOOL_ESLOTSIZE = -2, /* slot_size is 0, or differs from a typed pool's type, or classes have
                             wrong sizes, or no class has such slots (cpool/sized.h) */
    CPOOL_EALIGN = -3,    /* slot_align is not a power of two, or above CPOOL_ALIGN_MAX, or below
                             that of a typed pool's type, or slot_offset is above slot_size */
    CPOOL_ECAPACITY = -4, /* capacity is 0, or capacity or max_capacity is above CPOOL_CAPACITY_MAX,
                             or max_capacity is below capacity, or so many slots do not fit into the
                             address space */
    CPOOL_EROUNDS = -5,   /* magazine_rounds is out of range for this capacity */
    CPOOL_ECACHES = -6,   /* thread_caches is above CPOOL_THREAD_CACHES_MAX */
    CPOOL_EFLAGS = -7,    /* a flag is unknown, or refused here */
    CPOOL_EMEMORY = -8,   /* memory_size is given without memory, or memory is not aligned to
                             CPOOL_MEMORY_ALIGN */
    CPOOL_EMEMSIZE = -9,  /* memory_size is below cpool_memory_required */
    CPOOL_ECOPIES = -10,  /* some names of this copy of the library are bound to another copy
                             (cpool(7), Copies) */

    CPOOL_ENULL = -101,       /* a required pointer is NULL */
    CPOOL_EPOOL = -102,       /* not a pool: NULL (where that is not CPOOL_ENULL), never
                                 created, destroyed, or made by another copy of the library.
                                 Or its slots belong to objects, blocks of many sizes or
                                 lanes, and the function takes or gives slots */
    CPOOL_EFOREIGN = -103,    /* the address lies outside the pool's slab */
    CPOOL_EMISALIGNED = -104, /* the address lies inside a slot, not at its start */
    CPOOL_EUNUSED = -105,     /* the slot has never been handed out */
    CPOOL_EDOUBLEFREE = -106, /* the slot is already free (see cpool_free) */
    CPOOL_EGUARD = -107,      /* bytes around the slot were overwritten (checked pools) */
    CPOOL_ELIVE = -108,       /* the pool was destroyed, with slots still live */
    CPOOL_EOPEN = -109,       /* already open: a typed pool, for example */
    CPOOL_EINACTIVE = -110,   /* the object is not active (cpool/object.h) */
    CPOOL_EHOOK = -111,       /* a hook of an object pool was left without returning */
    CPOOL_EREADER = -112,     /* a reader is inside a section (cpool/retire.h) */
    CPOOL_ESTALLED = -113,    /* a section has held slots back for too long (cpool/retire.h) */
    CPOOL_ERETIRED = -114,    /* the slot is retired already (tracked and checked pools) */
    CPOOL_EFRAME = -115,      /* not an open frame, or one of another pool */
    CPOOL_EFRAMED = -116,     /* the slot goes back with its frame (checked pools) */
    CPOOL_EKIND = -117,       /* the pool lacks the flag that the function needs: CPOOL_TRACKED,
                                 or CPOOL_OBJECT_WAITABLE */
    CPOOL_ETRAP = -119,       /* a sampled slot was used after its free, or beyond one of its
                                 ends (cpool_debug(3)) */

    CPOOL_ENOMEM = -201, /* the operating system refused memory, or another resource */
    CPOOL_ELIMIT = -202, /* as many pools, caches or frames of a pool, or readers of a domain, exist
                            as there can be at once */
    CPOOL_EDRY = -203,   /* fewer slots are free than were requested */
    CPOOL_EHELD = -204   /* readers hold back as many slots as they may (cpool/retire.h) */
};

/*
 * cpool_strerror - a short English sentence for an error code.
 *
 * Returns a static string, never NULL, also for unknown codes.  Any thread, wait-free,
 * async-signal-safe.
 */
CPOOL_API const char *cpool_strerror(int code) CPOOL_RETURNS_NONNULL_;

/* The report to the error handler. */
typedef struct cpool_error {
    size_t size;          /* bytes that the library has filled in.  Handlers built
                             against a newer header check it first */
    int code;             /* CPOOL_EPOOL ... */
    const char *text;     /* one line: the mistake, the pool, the address, the nearest
                             slot */
    const char *function; /* the exported function that found it, or "access" for CPOOL_ETRAP.
                             Inline functions call exported ones: cpool_calloc is reported as
                             cpool_alloc, and cpool_owns as cpool_index */
    cpool_t *pool;        /* as passed by the caller; may not be a pool at all */
    const char *name;     /* the pool's name, or "" if unknown */
    const void *address;  /* the offending address, or NULL */
    const void *slot;     /* the nearest slot, or NULL if there is none */
    size_t index;         /* that slot's index, or 0 */
    const void *site;     /* return address of the slot's last alloc or free
                             (checked pools), or NULL */
    const char *details;  /* lines about the slots involved, or "" */
} cpool_error_t;

/*
 * A handler may be called by any thread that misuses a pool, and by several at once.  If it
 * returns, the wrong operation is refused, and the pool is unharmed.  It must not call into the
 * pool concerned, but cpool_read_stats and cpool_dump.
 *
 * A report takes up to 14 KiB of the thread's stack (x86-64, glibc), in addition to what the
 * handler uses.  That is nearly all of the smallest stack that a thread can have.
 */
typedef struct cpool_error_handler {
    void (*report)(const cpool_error_t *error, void *arg); /* NULL: the default, which writes the
                    text to standard error without allocating and then aborts, unless the code
                    is one of resources or CPOOL_ETRAP, or CPOOL_OPTIONS has `continue` */
    void *arg; /* the user's */
} cpool_error_handler_t;

/*
 * cpool_set_error_handler - sets the handler of callers' mistakes.
 *
 *     cpool_set_error_handler((cpool_error_handler_t){ note_mistake, &log });
 *
 * Returns the handler before, to set it again, or for a handler that passes reports on to it.  Its
 * `report` is NULL if that was the default, which cannot be called: so test it.
 * Any thread, but a report that is being made at this moment may still reach the previous handler.
 * It may block.
 */
CPOOL_API cpool_error_handler_t cpool_set_error_handler(cpool_error_handler_t handler);

#endif /* CPOOL_ERROR_H */
