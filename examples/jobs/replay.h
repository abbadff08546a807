/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - what the allocator costs in a run: its own allocs and frees, made again.
 *
 * A recorder stands between the job system and its allocators, and writes down each alloc
 * and each free, in the order of each worker.  The replay makes these calls again on as
 * many threads, with each node freed by the thread that freed it in the run, and nothing
 * else between them.  The same replay with an allocator that does nothing shows what the
 * rest of the replay takes.  The difference is the allocator's.
 *
 * Includes allocator.h.
 */
#ifndef JOBS_REPLAY_H
#define JOBS_REPLAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator.h"

#define REPLAY_KINDS 2u /* allocators that a run has: of jobs, and of results */

struct recorder;

/* An allocator that writes down what goes through it.  Its nodes have room for their
 * number, a uint32_t, at `number` bytes from their beginning. */
struct recorded {
    struct allocator outer; /* first: the one to be used */
    struct allocator *inner;
    struct recorder *recorder;
    size_t number;
    uint32_t kind;
};

/* The calls of one worker, in its order. */
struct record {
    uint32_t *events; /* number << 2 | kind << 1 | whether it is a free */
    size_t count;
};

struct recorder {
    struct recorded kinds[REPLAY_KINDS];
    struct record *records; /* one for each worker */
    unsigned threads;
    size_t room;          /* events of a record */
    atomic_uint joined;   /* workers that have a record */
    atomic_uint nodes;    /* allocated so far, and the number of the next one */
    atomic_bool overflow; /* a record was too short */
};

/*
 * Makes a recorder of `events` calls at most, by `threads` workers.  False when there is
 * no memory.  allocators[kind] is the allocator of a kind, and numbers[kind] the place of
 * its nodes' number.
 */
bool recorder_init(struct recorder *recorder, unsigned threads, size_t events,
                   struct allocator *const allocators[REPLAY_KINDS],
                   const size_t numbers[REPLAY_KINDS]);
void recorder_fini(struct recorder *recorder);

/* Each worker calls it before its first alloc. */
void recorder_join(struct recorder *recorder);

/*
 * Replays the record `repeat` times with the allocators, and as often with nothing.
 *
 * *nanoseconds gets the time of an alloc, the first write to the node and its free, all
 * threads' together, from the fastest replay of each.  Returns false when the record is
 * incomplete, or when there were no memory or threads.
 */
bool recorder_replay(struct recorder *recorder, unsigned repeat, double *nanoseconds);

#endif /* JOBS_REPLAY_H */
