/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workloads.h - every workload, compiled for the rival that includes this.
 *
 * A template: included once at the end of each rival's file, which has defined
 *
 *     void *rival_create(const struct bench_cell *cell)   NULL: no memory
 *     void rival_destroy(void *pool)
 *     void *rival_alloc(void *handle)
 *     void *rival_calloc(void *handle, size_t size)
 *     void rival_free(void *handle, void *slot)
 *
 * as static functions, the last three inline.  A handle is the pool, or the rival's
 * handle for a thread.  Defines rival_workloads.  Rivals that can do more say so by a
 * macro, and take part in more:
 *
 *     RIVAL_IS_CPOOL   the pool is a cpool_t; rival_create_with, see rival_cpool.h
 *     RIVAL_RECLAIMS   rival_reclaim_create ..., see workload_reclaim.h
 *     RIVAL_RETIRES    rival_domain_create ..., see workload_retire.h
 *     RIVAL_TRIMS      rival_trim, see workload_locality.h
 *     RIVAL_WAITS      rival_create_waitable ..., see workload_wait.h
 *
 * A new workload is a file like its neighbours, and two lines here.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <pthread.h>
#include <stdlib.h>

#include "bench.h"
#include "histogram.h"
#include "ring.h"

#include "workload_same_slot.h"
#include "workload_burst.h"
#include "workload_replace.h"
#include "workload_pipe.h"
#include "workload_larson.h" /* after replace: it is the life of its threads */
#include "workload_frame.h"
#include "workload_frame_end.h"
#include "workload_allocate.h"
#include "workload_create.h"
#include "workload_latency.h"
#include "workload_occupancy.h"
#ifdef RIVAL_IS_CPOOL
#include "workload_foreach.h"
#include "workload_grow.h"
#include "workload_object_frame.h"
#include "workload_recall.h"
#include "workload_resolve.h"
#endif
#ifdef RIVAL_RECLAIMS
#include "workload_reclaim.h"
#endif
#ifdef RIVAL_RETIRES
#include "workload_retire.h"
#endif
#ifdef RIVAL_TRIMS
#include "workload_locality.h"
#endif
#ifdef RIVAL_WAITS
#include "workload_wait.h"
#endif

static const struct bench_workload *const rival_workloads[] = {
    &same_slot_workload,
    &burst_workload,
    &replace_workload,
    &pipe_workload,
    &fan_out_workload,
    &fan_in_workload,
    &mesh_workload,
    &larson_workload,
    &frame_workload,
    &allocate_workload,
    &allocate_touch_workload,
    &zeroed_workload,
    &zeroed_touch_workload,
    &create_workload,
    &latency_workload,
    &occupancy_workload,
    &last_slot_workload,
#ifdef RIVAL_IS_CPOOL
    &recall_workload,
    &grow_workload,
    &resolve_workload,
    &foreach_workload,
    &frame_end_workload, &object_frame_workload,
#endif
#ifdef RIVAL_RECLAIMS
    &reclaim_workload,
#endif
#ifdef RIVAL_RETIRES
    &retire_workload,
#endif
#ifdef RIVAL_TRIMS
    &locality_workload,
#endif
#ifdef RIVAL_WAITS
    &hand_off_workload,
    &waiters_workload,
    &pressure_workload,
#endif
    NULL
};

#endif /* BENCH_WORKLOADS_H */
