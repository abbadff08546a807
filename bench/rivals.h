/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rivals.h - the list of rivals, in the order of the table's columns.
 *
 * A new rival is a file rival_<name>.c like its neighbours, a line here and a
 * line in local.mk.  A mode of libcpool, and an allocator that replaces malloc, is a line
 * in a list of its own and nothing else.  A rival that does things before main, or brings many
 * other libraries, gets a program of its own: a line in the last list, and in
 * local.mk the same sources with other rivals.
 */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

#include "bench.h"

/* Rivals that are compiled in. */
#ifdef BENCH_PROGRAM_DPDK
#define BENCH_RIVALS(X) X(dpdk)
#else
#define BENCH_RIVALS(X) \
    X(cpool)                \
    X(cpool_typed)          \
    X(cpool_cache)          \
    X(cpool_framed)         \
    X(cpool_frame_reset)    \
    X(cpool_tracked)        \
    X(cpool_object)         \
    X(cpool_colour)         \
    X(cpool_typed_object)   \
    X(array)                \
    X(no_grace)             \
    X(malloc)               \
    X(mutex)                \
    X(condvar)              \
    X(semaphore)            \
    X(ck_stack)             \
    X(urcu)                 \
    X(urcu_pool)            \
    X(ck_epoch)             \
    X(ck_hp)                \
    X(tbb)                  \
    X(tbb_pool)             \
    X(gslice)               \
    X(boost_freelist)       \
    X(boost_pool)
#endif

/* Rivals that stand in for one above of the same name, with other sizes of slots. */
#ifdef BENCH_PROGRAM_DPDK
#define BENCH_STAND_INS(X)
#else
#define BENCH_STAND_INS(X) \
    X(cpool_typed_8)       \
    X(cpool_typed_256)     \
    X(cpool_typed_1024)    \
    X(cpool_typed_4096)
#endif

/*
 * Modes of libcpool that are one of its rivals with other settings: the name in the
 * table, a description, the rival, and its config.
 */
#define BENCH_MODES(X)                                                                 \
    X("cpool-typed-tracked", "a typed pool with CPOOL_TRACKED", "cpool-typed",         \
      "flags=tracked")                                                                 \
    X("cpool-object-made", "an object pool, all objects created beforehand",           \
      "cpool-object", "populate=1")                                                    \
    X("cpool-object-hooks", "an object pool, two hooks of one store each",             \
      "cpool-object", "hooks=1")                                                       \
    X("cpool-object-hooks-made", "the same, all objects created beforehand",           \
      "cpool-object", "hooks=1,populate=1")                                            \
    X("cpool-typed-object-made", "a typed object pool, objects created beforehand",    \
      "cpool-typed-object", "populate=1")

/*
 * Allocators that stand before malloc (LD_PRELOAD): the name in the table, a
 * description, the file to preload, and a part of the name of the file that
 * malloc must come from then.
 */
#define BENCH_PRELOADS(X)                                                             \
    X("jemalloc", "malloc and free of jemalloc", "libjemalloc.so.2", "libjemalloc")    \
    X("tcmalloc", "malloc and free of gperftools", "libtcmalloc_minimal.so.4",         \
      "libtcmalloc")                                                                   \
    X("mimalloc", "malloc and free of mimalloc", "libmimalloc.so.2", "libmimalloc")

/*
 * Rivals with a program of their own beside this one: the name in the table, a
 * description, the file, and why it was not built, or "".
 */
#if defined(HAVE_DPDK) && HAVE_DPDK
#define BENCH_NO_DPDK ""
#else
#define BENCH_NO_DPDK "configure did not use DPDK"
#endif

#define BENCH_PROGRAMS(X) \
    X("dpdk", "DPDK's rte_mempool, a cache of 512 per thread", "bench-dpdk", BENCH_NO_DPDK)

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_DECLARE(name) extern const struct bench_rival bench_rival_##name;
BENCH_RIVALS(BENCH_DECLARE)
BENCH_STAND_INS(BENCH_DECLARE)
#undef BENCH_DECLARE

#ifdef __cplusplus
}
#endif

#endif /* BENCH_RIVALS_H */
