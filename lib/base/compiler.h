/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compiler.h - what the compiler can be told, and constants of the machine.
 *
 * Includes nothing of the library.  A source that needs more of the system than C11 includes it
 * before all others.
 */
#ifndef CPI_COMPILER_H
#define CPI_COMPILER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#if !defined(__GNUC__)
#error "libcpool itself is built with a GNU-compatible C compiler; its users need not be"
#endif

#define CPI_LIKELY(x) __builtin_expect(!!(x), 1)
#define CPI_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Tells the processor that this thread waits for another. */
#if defined(__x86_64__) || defined(__i386__)
#define CPI_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define CPI_PAUSE() __asm__ volatile("yield")
#else
#define CPI_PAUSE() ((void)0)
#endif

/* Entered seldom: kept out of the way of the code that is entered often. */
#define CPI_COLD __attribute__((__cold__, __noinline__))

/* Inlined, however large: its caller is nothing else. */
#define CPI_WITHIN __attribute__((__always_inline__))

/* Not inlined: its caller saves no registers for it. */
#define CPI_APART __attribute__((__noinline__))

/*
 * An invariant that a comment states, asserted where CPI_DEBUG is defined (configure
 * --enable-debug, `make check`, the stress programs).  The claim has no effect: it is
 * compiled always and evaluated only there.
 */
#ifdef CPI_DEBUG
#define CPI_ASSERT(claim) \
    (CPI_LIKELY(claim) ? (void)0 : cpi_assert_failed(#claim, __FILE__, __LINE__))
#else
#define CPI_ASSERT(claim) ((void)(0 && (claim)))
#endif

/* Prints the claim that does not hold, and aborts (error.c). */
void cpi_assert_failed(const char *claim, const char *file, int line);

/* A thread-local variable without a call into the dynamic linker, which allocates. */
#if defined(__ELF__) && !defined(CPOOL_PLAIN_POSIX)
#define CPI_INITIAL_EXEC __attribute__((__tls_model__("initial-exec")))
#else
#define CPI_INITIAL_EXEC
#endif

/* Not looked at by AddressSanitizer and MemorySanitizer, where the library is compiled for
 * one of these. */
#if defined(__clang__)
#define CPI_UNINSTRUMENTED __attribute__((__no_sanitize__("address", "memory")))
#else
#define CPI_UNINSTRUMENTED __attribute__((__no_sanitize_address__))
#endif

#if defined(__MINGW32__) && !defined(__clang__) /* its own formats are not those of C */
#define CPI_PRINTF(format, first) __attribute__((__format__(__gnu_printf__, format, first)))
#else
#define CPI_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#endif

/* The address the current function returns to, in the library's caller. */
#define CPI_CALLER() __builtin_return_address(0)

/* Which public function a program has called, and where.  It is passed by value, in two registers,
 * down to where a report or a record wants it. */
struct cpi_call {
    const char *function; /* the public one's name */
    const void *site;     /* the address that it returns to */
};

/* In the public function itself. */
#define CPI_CALL(name) ((struct cpi_call){(name), CPI_CALLER()})

/* Whether this is a build for ThreadSanitizer. */
#if defined(__SANITIZE_THREAD__)
#define CPI_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CPI_THREAD_SANITIZER 1
#endif
#endif
#ifndef CPI_THREAD_SANITIZER
#define CPI_THREAD_SANITIZER 0
#endif

/*
 * Bytes that two words must be apart so that writing one does not slow down
 * readers of the other: two cache lines, because x86 fetches them in pairs.
 */
#define CPI_LINE_PAIR 128u

/* Alignment of the library's own structures: one cache line. */
#define CPI_LINE 64u

#endif /* CPI_COMPILER_H */
