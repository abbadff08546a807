/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * common.h - what the libraries of ext/ share: atomic operations, what the compiler can be told,
 * and public structures of other sizes.
 *
 * Includes public headers only.  Words, macros and orders are those of lib/base/atomic.h and
 * lib/base/compiler.h, so that both may be included.
 */
#ifndef CPI_COMMON_H
#define CPI_COMMON_H

#include <stdatomic.h>
#include <string.h>

#include <cpool.h>
#include <cpool/client.h>

#ifndef CPI_ATOMIC_H

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

/* Raises a number to at least this one.  The order is that of a store. */
#define cpi_raise(object, value, order)                                         \
    do {                                                                        \
        const __typeof__(value) cpi_least_ = (value);                           \
        __extension__ __auto_type cpi_was_ = cpi_load((object), relaxed);       \
        while (cpi_was_ < cpi_least_ &&                                         \
               !cpi_cas_weak((object), &cpi_was_, cpi_least_, order, relaxed))  \
            ;                                                                   \
    } while (0)

#define CPI_PLAIN_relaxed __ATOMIC_RELAXED
#define CPI_PLAIN_acquire __ATOMIC_ACQUIRE
#define CPI_PLAIN_release __ATOMIC_RELEASE
#define CPI_PLAIN_acq_rel __ATOMIC_ACQ_REL

#define cpi_word_load(word, order) (CPI_ATOMIC_POINT(), __atomic_load_n((word), CPI_PLAIN_##order))
#define cpi_word_store(word, value, order) \
    (CPI_ATOMIC_POINT(), __atomic_store_n((word), (value), CPI_PLAIN_##order))
#define cpi_word_exchange(word, value, order) \
    (CPI_ATOMIC_POINT(), __atomic_exchange_n((word), (value), CPI_PLAIN_##order))
#define cpi_word_cas(word, expected, desired, success, failure)                    \
    (CPI_ATOMIC_POINT(), __atomic_compare_exchange_n((word), (expected), (desired), 0, \
                                                     CPI_PLAIN_##success, CPI_PLAIN_##failure))

#endif /* CPI_ATOMIC_H */

#ifndef CPI_COMPILER_H
#define CPI_LIKELY(x) __builtin_expect(!!(x), 1)
#define CPI_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Entered seldom: kept out of the way of the code that is entered often. */
#define CPI_COLD __attribute__((__cold__, __noinline__))

/* Inlined, however large: its caller is nothing else. */
#define CPI_WITHIN __attribute__((__always_inline__))

/* The address the current function returns to, in the library's caller. */
#define CPI_CALLER() __builtin_return_address(0)

/* An invariant that a comment states, asserted where CPI_DEBUG is defined. */
#ifdef CPI_DEBUG
#define CPI_ASSERT(claim) (CPI_LIKELY(claim) ? (void)0 : __builtin_trap())
#else
#define CPI_ASSERT(claim) ((void)(0 && (claim)))
#endif

/* Not inlined: its caller saves no registers for it. */
#define CPI_APART __attribute__((__noinline__))

/* Alignment of structures: one cache line. */
#define CPI_LINE 64u
#endif /* CPI_COMPILER_H */

/* Copies a name, or none: NULL, as far as it fits, as the library copies those of pools. */
static inline void cpi_name_copy(char *copy, size_t size, const char *name)
{
    size_t i = 0;

    for (; name != NULL && name[i] != '\0' && i + 1 < size; i++)
        copy[i] = name[i] >= ' ' && name[i] <= '~' && name[i] != '"' && name[i] != '\\' ? name[i]
                                                                                     : '?';
    copy[i] = '\0';
}

/* The size that a program's structure begins with, or 0 if that is no size. */
static inline size_t cpi_given_size(const void *given)
{
    size_t size;

    memcpy(&size, given, sizeof size);
    return size >= sizeof size && size <= 4096 ? size : 0;
}

/*
 * Copies the program's structure at `given` to `known`, a structure of `size` bytes.  Members that
 * the program's header lacks become zero.
 *
 * Returns 0, CPOOL_ENULL, or CPOOL_ESTRUCT, also if a byte beyond the known ones is set.
 */
static inline int cpi_given_read(void *known, size_t size, const void *given)
{
    const unsigned char *bytes = given;
    size_t given_size = given != NULL ? cpi_given_size(given) : 0;

    if (given_size == 0)
        return given != NULL ? CPOOL_ESTRUCT : CPOOL_ENULL;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return CPOOL_ESTRUCT;
    memset(known, 0, size);
    memcpy(known, given, size < given_size ? size : given_size);
    memcpy(known, &size, sizeof size);
    return 0;
}

/* Copies a known structure to the program's, whose size stays. */
static inline int cpi_given_write(void *given, const void *known, size_t size)
{
    size_t given_size = given != NULL ? cpi_given_size(given) : 0;
    size_t common = size < given_size ? size : given_size;

    if (given_size == 0)
        return given != NULL ? CPOOL_ESTRUCT : CPOOL_ENULL;
    memset(given, 0, given_size);
    memcpy(given, known, common);
    memcpy(given, &given_size, sizeof given_size);
    return 0;
}

/* Reports a code about an address, on behalf of the function, and returns it. */
static inline int cpi_report_address(int code, const char *function, const void *address)
{
    cpool_error_t error = {.code = code, .function = function, .name = "", .address = address};

    cpool_client_report(&error, "%s: %s (%p)", function,
                        code == CPOOL_EPOOL ? "it has been destroyed" : cpool_strerror(code),
                        address);
    return code;
}

/* Whether a structure has ended: its word for cpool_client_release tells.  That is reported. */
static inline bool cpi_ended_check(const uintptr_t *ended, const void *structure,
                                   const char *function)
{
    return CPI_UNLIKELY(__atomic_load_n(ended, __ATOMIC_RELAXED) != 0) &&
           cpi_report_address(CPOOL_EPOOL, function, structure) != 0;
}

/* The structure has that word as its member `ended`.  The function is the calling one. */
#define CPI_ENDED(structure) cpi_ended_check(&(structure)->ended, structure, __func__)

#endif /* CPI_COMMON_H */
