/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * atomic.h - every atomic operation of the library goes through these macros.
 *
 * The order is written without its prefix: cpi_load(&head, acquire).  doc/CONCURRENCY.md 1 has the
 * rules.
 *
 * A test or a model checker can supply a header, CPI_ATOMIC_HEADER.  It may define
 * CPI_ATOMIC_POINT(), which runs before each operation, and other compare-and-swaps.
 *
 * The cpi_word_ macros work on plain words: a public header declares these words, and C++ must be
 * able to read it.
 */
#ifndef CPI_ATOMIC_H
#define CPI_ATOMIC_H

#include <stdatomic.h>

#ifdef CPI_ATOMIC_HEADER
#include CPI_ATOMIC_HEADER
#endif

#ifndef CPI_ATOMIC_POINT
#define CPI_ATOMIC_POINT() ((void)0)
#endif

#define cpi_load(object, order) \
    (CPI_ATOMIC_POINT(), atomic_load_explicit((object), memory_order_##order))
#define cpi_store(object, value, order) \
    (CPI_ATOMIC_POINT(), atomic_store_explicit((object), (value), memory_order_##order))
#define cpi_exchange(object, value, order) \
    (CPI_ATOMIC_POINT(), atomic_exchange_explicit((object), (value), memory_order_##order))
#define cpi_fetch_add(object, value, order) \
    (CPI_ATOMIC_POINT(), atomic_fetch_add_explicit((object), (value), memory_order_##order))
#define cpi_fetch_and(object, value, order) \
    (CPI_ATOMIC_POINT(), atomic_fetch_and_explicit((object), (value), memory_order_##order))

/* May fail spuriously; for loops. */
#ifndef cpi_cas_weak
#define cpi_cas_weak(object, expected, desired, success, failure)               \
    (CPI_ATOMIC_POINT(),                                                        \
     atomic_compare_exchange_weak_explicit((object), (expected), (desired),     \
                                           memory_order_##success, memory_order_##failure))
#endif

#ifndef cpi_cas_strong
#define cpi_cas_strong(object, expected, desired, success, failure)             \
    (CPI_ATOMIC_POINT(),                                                        \
     atomic_compare_exchange_strong_explicit((object), (expected), (desired),   \
                                             memory_order_##success, memory_order_##failure))
#endif

/* Raises *object to `value` unless it is larger already.  `order` is the order of the store. */
#define cpi_raise(object, value, order)                                         \
    do {                                                                        \
        const __typeof__(value) cpi_least_ = (value);                           \
        __extension__ __auto_type cpi_was_ = cpi_load((object), relaxed);       \
        while (cpi_was_ < cpi_least_ &&                                         \
               !cpi_cas_weak((object), &cpi_was_, cpi_least_, order, relaxed))  \
            ;                                                                   \
    } while (0)

#define cpi_word_load(word, order) \
    (CPI_ATOMIC_POINT(), __atomic_load_n((word), memory_order_##order))
#define cpi_word_store(word, value, order) \
    (CPI_ATOMIC_POINT(), __atomic_store_n((word), (value), memory_order_##order))
#define cpi_word_exchange(word, value, order) \
    (CPI_ATOMIC_POINT(), __atomic_exchange_n((word), (value), memory_order_##order))
#define cpi_word_cas(word, expected, desired, success, failure)                    \
    (CPI_ATOMIC_POINT(),                                                           \
     __atomic_compare_exchange_n((word), (expected), (desired), 0, memory_order_##success, \
                                 memory_order_##failure))

#endif /* CPI_ATOMIC_H */
