/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compiler.h - attributes and hints for the compiler, and constants of the machine.
 *
 * Includes nothing of the library.  A source file that needs more of the system than C11 has to
 * include it first.
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

/* Tells the processor that this thread is in a spin loop. */
#if defined(__x86_64__) || defined(__i386__)
#define CPI_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define CPI_PAUSE() __asm__ volatile("yield")
#else
#define CPI_PAUSE() ((void)0)
#endif

/* Whether the processor is one of AMD's.  Slow in a virtual machine.  Model checkers get no. */
#if (defined(__x86_64__) || defined(__i386__)) && !defined(CPI_ATOMIC_HEADER)
static inline _Bool cpi_is_amd(void)
{
    unsigned highest = 0, vendor, middle, last; /* "Auth", "enti", "cAMD" */

    __asm__("cpuid" : "+a"(highest), "=b"(vendor), "=d"(middle), "=c"(last));
    return vendor == 0x68747541u;
}
#else
#define cpi_is_amd() 0
#endif

/* Called rarely: kept away from the hot code. */
#define CPI_COLD __attribute__((__cold__, __noinline__))

/* Always inlined, however large: it has one caller, which does nothing else. */
#define CPI_WITHIN __attribute__((__always_inline__))

/* Never inlined, so that its caller saves no registers for it. */
#define CPI_APART __attribute__((__noinline__))

/* An invariant that a comment states, checked where CPI_DEBUG is defined (configure --enable-debug,
 * `make check`, the stress programs).  Elsewhere the claim is compiled but never evaluated, so it
 * must have no side effects. */
#ifdef CPI_DEBUG
#define CPI_ASSERT(claim) \
    (CPI_LIKELY(claim) ? (void)0 : cpi_assert_failed(#claim, __FILE__, __LINE__))
#else
#define CPI_ASSERT(claim) ((void)(0 && (claim)))
#endif

/* Prints the claim that does not hold and aborts (error.c). */
void cpi_assert_failed(const char *claim, const char *file, int line);

/* A thread-local variable that is read without a call into the dynamic linker, which allocates. */
#if defined(__ELF__) && !defined(CPOOL_PLAIN_POSIX)
#define CPI_INITIAL_EXEC __attribute__((__tls_model__("initial-exec")))
#else
#define CPI_INITIAL_EXEC
#endif

/* Not instrumented where the library itself is compiled with AddressSanitizer or
 * MemorySanitizer. */
#if defined(__clang__)
#define CPI_UNINSTRUMENTED __attribute__((__no_sanitize__("address", "memory")))
#else
#define CPI_UNINSTRUMENTED __attribute__((__no_sanitize_address__))
#endif

#if defined(__MINGW32__) && !defined(__clang__) /* its printf formats differ from C's */
#define CPI_PRINTF(format, first) __attribute__((__format__(__gnu_printf__, format, first)))
#else
#define CPI_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#endif

/* The return address of the current function, in the library's caller. */
#define CPI_CALLER() __builtin_return_address(0)

/* The public function that a program has called, and from where.  Passed by value, in two
 * registers, down to the code that reports or records it. */
struct cpi_call {
    const char *function; /* the name of the public function */
    const void *site;     /* its return address */
};

/* For use in the public function itself. */
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

/* How far apart two words must be, in bytes, so that writes to one do not slow down readers of the
 * other: two cache lines, because x86 fetches them in pairs. */
#define CPI_LINE_PAIR 128u

/* Alignment of the library's own structures: one cache line. */
#define CPI_LINE 64u

#endif /* CPI_COMPILER_H */
