/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_inline.c - the inline path of sections as ordinary symbols.
 */
#include <cpool.h>

#if defined(CPOOL_NO_INLINE)
#undef CPOOL_IS_INLINE_
#undef CPOOL_INLINE_
#define CPOOL_IS_INLINE_ 1
#define CPOOL_INLINE_ __attribute__((__noinline__))
#endif

#include <cpool/retire.h>

#if !defined(CPOOL_NO_INLINE)
extern inline void cpool_read_begin(cpool_reader_t *reader);
extern inline void cpool_read_end(cpool_reader_t *reader);
#endif
