/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/attributes.h - attributes of the declarations in <cpool.h>.
 *
 * Included by <cpool.h>.  Never include it yourself.
 *
 * All are empty for compilers that lack them.  Names that end in an underscore are only for the
 * library's headers.
 */
#ifndef CPOOL_ATTRIBUTES_H
#define CPOOL_ATTRIBUTES_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/attributes.h>"
#endif

/* An exported symbol.  With CPOOL_STATIC the library is part of one program or shared object, which
 * exports none of its names.  The user may also define it, and must then define it for the
 * library's sources, too. */
#if defined(CPOOL_API)
#elif defined(__GNUC__) && !defined(_WIN32) && defined(CPOOL_STATIC)
#define CPOOL_API __attribute__((__visibility__("hidden")))
#elif defined(__GNUC__) && !defined(_WIN32)
#define CPOOL_API __attribute__((__visibility__("default")))
#else
#define CPOOL_API
#endif

#if defined(__GNUC__)
/* An ignored result is a lost slot, a lost pool or a missed failure. */
#define CPOOL_MUST_USE_ __attribute__((__warn_unused_result__))

/* The result is never NULL. */
#define CPOOL_RETURNS_NONNULL_ __attribute__((__returns_nonnull__))

/* This argument must not be NULL.  Compilers rely on it and delete tests of it, so the attribute is
 * only on arguments that no function of the library tests. */
#define CPOOL_NONNULL_(argument) __attribute__((__nonnull__(argument)))
#else
#define CPOOL_MUST_USE_
#define CPOOL_RETURNS_NONNULL_
#define CPOOL_NONNULL_(argument)
#endif

/*
 * The result is freed by this function's second argument.  GCC warns if a slot is passed to free(),
 * or used after it was freed.  For that, both functions become ordinary calls, so no inline
 * function has the attribute.
 *
 * The attribute `malloc` without a deallocator is not used: it promises that the memory contains no
 * pointer to a live object, but slots keep their contents.
 */
#if defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ >= 11
#define CPOOL_FREED_BY_(function) __attribute__((__malloc__(function, 2)))
#endif
#endif
#if !defined(CPOOL_FREED_BY_)
#define CPOOL_FREED_BY_(function)
#endif

/*
 * A compiler may compute the address of thread-local storage once per function.  If a fiber or a
 * coroutine moves to another thread inside that function, the address is wrong afterwards.  So the
 * inline path reads the thread's word by instructions that no compiler can move or cache.
 * <cpool/fast.h> has them for x86-64 and aarch64.  Elsewhere each function is a call.
 *
 * Not where thread-local storage is emulated, because a variable has another name there.
 */
#if defined(__GNUC__) && defined(__ELF__) && defined(__LP64__) &&                      \
    (defined(__x86_64__) || defined(__aarch64__)) && !defined(CPOOL_PLAIN_POSIX) &&    \
    !defined(__ANDROID__) && !defined(__OpenBSD__)
#define CPOOL_IS_READ_ 1
#else
#define CPOOL_IS_READ_ 0
#if !defined(CPOOL_NO_INLINE)
#define CPOOL_NO_INLINE 1
#endif
#endif

/* For static analysis the functions are only declared (<cpool/analyze.h>). */
#if defined(__GNUC__) && (defined(CPOOL_ANALYZE) || defined(__clang_analyzer__))
#define CPOOL_IS_ANALYZED_ 1
#if !defined(CPOOL_NO_INLINE)
#define CPOOL_NO_INLINE 1
#endif
#else
#define CPOOL_IS_ANALYZED_ 0
#endif

/* Casts of numbers and of pointers.  In C++ they are named casts, because users enable warnings
 * about the others. */
#if defined(__cplusplus)
#define CPOOL_NUMBER_(type, number) static_cast<type>(number)
#define CPOOL_CAST_(type, value) reinterpret_cast<type>(value)
#else
#define CPOOL_NUMBER_(type, number) ((type)(number))
#define CPOOL_CAST_(type, value) ((type)(value))
#endif

/*
 * CPOOL_IS_INLINE_ is 1 if there is an inline path.  C99 inline: the definitions in <cpool/fast.h>
 * are for inlining, and the library emits the same functions as ordinary symbols, for dlsym and for
 * foreign function interfaces.  The library defines CPOOL_EMIT_ in the file that emits them, also
 * with CPOOL_NO_INLINE.
 */
#if defined(__GNUC__) && defined(CPOOL_NO_INLINE) && defined(CPOOL_EMIT_)
#define CPOOL_IS_INLINE_ 1
#define CPOOL_INLINE_ __attribute__((__noinline__))
#elif defined(__GNUC__) && !defined(CPOOL_NO_INLINE)
#define CPOOL_IS_INLINE_ 1
#if defined(__cplusplus) || defined(__GNUC_STDC_INLINE__)
#define CPOOL_INLINE_ inline
#else
#define CPOOL_INLINE_ extern __inline__ __attribute__((__gnu_inline__))
#endif
#else
#define CPOOL_IS_INLINE_ 0
#define CPOOL_INLINE_
#endif

/* A function of which each program has its own copy, and that the library does not export. */
#if defined(__GNUC__)
#define CPOOL_LOCAL_ static __inline__ __attribute__((__unused__))
#else
#define CPOOL_LOCAL_ static inline
#endif

/* Called through a pointer in the caller's table, without a stub in between. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__ELF__)
#define CPOOL_NO_PLT_ __attribute__((__noplt__))
#else
#define CPOOL_NO_PLT_
#endif

/* Precedes the semicolon of a macro that ends with a function.  A declaration of a structure would
 * declare another one in a C++ namespace. */
#define CPOOL_TYPED_END_ CPOOL_TYPED_ASSERT_(true, "cpool")

#endif /* CPOOL_ATTRIBUTES_H */
