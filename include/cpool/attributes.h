/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/attributes.h - attributes of the declarations in <cpool.h>.
 *
 * Included by <cpool.h>.  Never include it yourself.
 *
 * All of them are empty for compilers without them.  Names that end in an
 * underscore are not for use outside the library's headers.
 */
#ifndef CPOOL_ATTRIBUTES_H
#define CPOOL_ATTRIBUTES_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/attributes.h>"
#endif

/* An exported symbol.  With CPOOL_STATIC the library is a part of one program or shared object,
 * which shows none of its names.  Another attribute may be defined instead.  Either is defined
 * for the library's sources, too. */
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

/* This argument must not be NULL.  Compilers assume that it is not, and delete tests of it,
 * so the attribute is only on arguments that no function of the library tests. */
#define CPOOL_NONNULL_(argument) __attribute__((__nonnull__(argument)))
#else
#define CPOOL_MUST_USE_
#define CPOOL_RETURNS_NONNULL_
#define CPOOL_NONNULL_(argument)
#endif

/*
 * The result goes back by this function's second argument.  GCC warns of a slot passed to
 * free(), or used after it was given back.  It makes both functions ordinary calls for that,
 * so no inline function has the attribute.
 *
 * The attribute `malloc` without a deallocator is not used.  It promises that the memory
 * contains no pointer to a living object, but slots keep their contents.
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
 * A compiler may compute the address of thread-local storage once in a function.  In a function in
 * which a fiber or a coroutine goes on in another thread, that is then another thread's.  So the
 * inline path reads the thread's word by instructions that no compiler can move or keep.
 * <cpool/fast.h> has them for x86-64 and aarch64.  Elsewhere each function is a call.
 *
 * Not where thread-local storage is emulated: there a variable has another name.
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

/* For static analysis the functions are declared alone (<cpool/analyze.h>). */
#if defined(__GNUC__) && (defined(CPOOL_ANALYZE) || defined(__clang_analyzer__))
#define CPOOL_IS_ANALYZED_ 1
#if !defined(CPOOL_NO_INLINE)
#define CPOOL_NO_INLINE 1
#endif
#else
#define CPOOL_IS_ANALYZED_ 0
#endif

/* Casts of numbers, and from and to pointers, by the words that C++ has for them: users ask their
 * compilers for warnings of the others. */
#if defined(__cplusplus)
#define CPOOL_NUMBER_(type, number) static_cast<type>(number)
#define CPOOL_CAST_(type, value) reinterpret_cast<type>(value)
#else
#define CPOOL_NUMBER_(type, number) ((type)(number))
#define CPOOL_CAST_(type, value) ((type)(value))
#endif

/*
 * CPOOL_IS_INLINE_ is 1 if there is an inline path.  C99 inline:
 * the definitions in <cpool/fast.h> serve the inliner, and the library emits the same
 * functions as ordinary symbols, for dlsym and for foreign-function users.  The library
 * sets CPOOL_EMIT_ in the file that emits them, which it does with CPOOL_NO_INLINE as well.
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

/* A function that each program has itself, and the library does not export. */
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

/* Before the semicolon of a macro that ends with a function.  A structure's name there would be
 * another one in a namespace of C++. */
#define CPOOL_TYPED_END_ CPOOL_TYPED_ASSERT_(true, "cpool")

#endif /* CPOOL_ATTRIBUTES_H */
