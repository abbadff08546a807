/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_tsan.c - the calls that -fsanitize=thread compiles into a model.
 *
 * The names and the meaning of their arguments are those of ThreadSanitizer's
 * run-time.  A caller gives the order of an atomic operation as an int with
 * hints in the upper bits.
 */
#include <string.h>

#include "weak.h"

#define ORDER(order) ((order) & 0xff)
#define HERE() (weak_world->where = __builtin_return_address(0))

static uint64_t exchanged(uint64_t old, uint64_t operand)
{
    (void)old;
    return operand;
}

static uint64_t added(uint64_t old, uint64_t operand)
{
    return old + operand;
}

static uint64_t subtracted(uint64_t old, uint64_t operand)
{
    return old - operand;
}

static uint64_t anded(uint64_t old, uint64_t operand)
{
    return old & operand;
}

static uint64_t ored(uint64_t old, uint64_t operand)
{
    return old | operand;
}

static uint64_t xored(uint64_t old, uint64_t operand)
{
    return old ^ operand;
}

static uint64_t nanded(uint64_t old, uint64_t operand)
{
    return ~(old & operand);
}

/* NOLINTBEGIN: the names are not ours. */
#define UPDATE(bits, name, operation)                                                     \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *object,          \
                                                uint##bits##_t operand, int order);       \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *object,          \
                                                uint##bits##_t operand, int order)        \
    {                                                                                     \
        HERE();                                                                           \
        return (uint##bits##_t)weak_update((uintptr_t)object, bits / 8, operation, operand, \
                                           ORDER(order));                                 \
    }

#define COMPARE(bits, name, weak)                                                         \
    int __tsan_atomic##bits##_compare_exchange_##name(                                    \
        volatile uint##bits##_t *object, uint##bits##_t *expected, uint##bits##_t desired, \
        int success, int failure);                                                        \
    int __tsan_atomic##bits##_compare_exchange_##name(                                    \
        volatile uint##bits##_t *object, uint##bits##_t *expected, uint##bits##_t desired, \
        int success, int failure)                                                         \
    {                                                                                     \
        uint64_t found = *expected;                                                       \
        bool swapped;                                                                     \
                                                                                          \
        HERE();                                                                           \
        swapped = weak_compare_swap((uintptr_t)object, bits / 8, &found, desired, weak,   \
                                    ORDER(success), ORDER(failure));                      \
        if (!swapped)                                                                     \
            *expected = (uint##bits##_t)found;                                            \
        return swapped;                                                                   \
    }

#define ATOMICS(bits)                                                                     \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *object,      \
                                              int order);                                 \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *object,      \
                                              int order)                                  \
    {                                                                                     \
        HERE();                                                                           \
        return (uint##bits##_t)weak_load((uintptr_t)object, bits / 8, ORDER(order));      \
    }                                                                                     \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *object,                     \
                                     uint##bits##_t value, int order);                    \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *object,                     \
                                     uint##bits##_t value, int order)                     \
    {                                                                                     \
        HERE();                                                                           \
        weak_store((uintptr_t)object, bits / 8, value, ORDER(order));                     \
    }                                                                                     \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                            \
        volatile uint##bits##_t *object, uint##bits##_t expected, uint##bits##_t desired, \
        int success, int failure);                                                        \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                            \
        volatile uint##bits##_t *object, uint##bits##_t expected, uint##bits##_t desired, \
        int success, int failure)                                                         \
    {                                                                                     \
        uint64_t found = expected;                                                        \
                                                                                          \
        HERE();                                                                           \
        weak_compare_swap((uintptr_t)object, bits / 8, &found, desired, false,            \
                          ORDER(success), ORDER(failure));                                \
        return (uint##bits##_t)found;                                                     \
    }                                                                                     \
    COMPARE(bits, strong, false)                                                          \
    COMPARE(bits, weak, true)                                                             \
    UPDATE(bits, exchange, exchanged)                                                     \
    UPDATE(bits, fetch_add, added)                                                        \
    UPDATE(bits, fetch_sub, subtracted)                                                   \
    UPDATE(bits, fetch_and, anded)                                                        \
    UPDATE(bits, fetch_or, ored)                                                          \
    UPDATE(bits, fetch_xor, xored)                                                        \
    UPDATE(bits, fetch_nand, nanded)

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    HERE();
    weak_fence(ORDER(order));
}

/* The compiler has kept the order, and no coroutine is interrupted. */
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

#define PLAIN(name, size, access)              \
    void __tsan_##name(void *address);         \
    void __tsan_##name(void *address)          \
    {                                          \
        HERE();                                \
        weak_access((uintptr_t)address, size, access); \
    }

PLAIN(read1, 1, WEAK_READ)
PLAIN(read2, 2, WEAK_READ)
PLAIN(read4, 4, WEAK_READ)
PLAIN(read8, 8, WEAK_READ)
PLAIN(read16, 16, WEAK_READ)
PLAIN(write1, 1, WEAK_WRITE)
PLAIN(write2, 2, WEAK_WRITE)
PLAIN(write4, 4, WEAK_WRITE)
PLAIN(write8, 8, WEAK_WRITE)
PLAIN(write16, 16, WEAK_WRITE)
PLAIN(unaligned_read2, 2, WEAK_READ)
PLAIN(unaligned_read4, 4, WEAK_READ)
PLAIN(unaligned_read8, 8, WEAK_READ)
PLAIN(unaligned_read16, 16, WEAK_READ)
PLAIN(unaligned_write2, 2, WEAK_WRITE)
PLAIN(unaligned_write4, 4, WEAK_WRITE)
PLAIN(unaligned_write8, 8, WEAK_WRITE)
PLAIN(unaligned_write16, 16, WEAK_WRITE)

#define RANGE(name, access)                                  \
    void __tsan_##name##_range(void *address, size_t size);  \
    void __tsan_##name##_range(void *address, size_t size)   \
    {                                                        \
        HERE();                                              \
        weak_access((uintptr_t)address, size, access);       \
    }

RANGE(read, WEAK_READ)
RANGE(write, WEAK_WRITE)

/* Runs before main. */
void __tsan_init(void);
void __tsan_init(void)
{
    weak_init();
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* Of the models' objects alone, which are compiled to call these. */
void *weak_memset(void *to, int byte, size_t size);
void *weak_memset(void *to, int byte, size_t size)
{
    HERE();
    weak_access((uintptr_t)to, size, WEAK_WRITE);
    return memset(to, byte, size);
}

void *weak_memcpy(void *to, const void *from, size_t size);
void *weak_memcpy(void *to, const void *from, size_t size)
{
    HERE();
    weak_access((uintptr_t)from, size, WEAK_READ);
    weak_access((uintptr_t)to, size, WEAK_WRITE);
    return memcpy(to, from, size);
}
/* NOLINTEND */
