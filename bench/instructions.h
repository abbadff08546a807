/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions.h - the functions that are counted.
 *
 * Each does exactly one thing, once or in a loop. instructions.sh counts the instructions from the
 * first one to the return, and inspects the code.  A loop's own overhead is that of an empty loop.
 */
#ifndef BENCH_INSTRUCTIONS_H
#define BENCH_INSTRUCTIONS_H

#include <cpool.h>
#include <cpool/frame.h>
#include <cpool/object.h>
#include <cpool/retire.h>
#include <cpool/sized.h>

/* Never inlined: callgrind finds them by name. */
#define COUNTED __attribute__((__noinline__))

/* Inline, the calling thread's cache. */
void *inline_alloc_measured(cpool_t *pool);
void inline_free_measured(cpool_t *pool, void *slot);
void inline_loop_alloc_measured(cpool_t *pool, void **slots, size_t n);
void inline_loop_free_measured(cpool_t *pool, void **slots, size_t n);
void inline_loop_pair_measured(cpool_t *pool, void **slots, size_t n);

/* Inline, an explicit cache. */
void *cache_alloc_measured(cpool_cache_t *cache);
void cache_free_measured(cpool_cache_t *cache, void *slot);
void cache_loop_alloc_measured(cpool_cache_t *cache, void **slots, size_t n);
void cache_loop_free_measured(cpool_cache_t *cache, void **slots, size_t n);
void cache_loop_pair_measured(cpool_cache_t *cache, void **slots, size_t n);

/* Inline, typed pools: 64 bytes, and 48. */
void *typed_alloc_measured(void);
void typed_free_measured(void *slot);
void *uneven_alloc_measured(void);
void uneven_free_measured(void *slot);
void typed_loop_alloc_measured(cpool_t *pool, void **slots, size_t n);
void typed_loop_free_measured(cpool_t *pool, void **slots, size_t n);
void typed_loop_pair_measured(cpool_t *pool, void **slots, size_t n);

/* Empty loops of the same form. */
void empty_loop_alloc_measured(cpool_t *pool, void **slots, size_t n);
void empty_loop_free_measured(cpool_t *pool, void **slots, size_t n);
void empty_loop_pair_measured(cpool_t *pool, void **slots, size_t n);

/* The symbols of the library: instructions_outline.c. */
void *outline_alloc_measured(cpool_t *pool);
void outline_free_measured(cpool_t *pool, void *slot);

/* The modes: instructions_modes.c. */
struct instructions_mode {
    const char *name;
    void (*run)(size_t n); /* n operations */
};

/* The parts; the last one has no name. */
extern const struct instructions_mode instructions_modes[];

void instructions_modes_create(void);
void instructions_modes_destroy(void);
void *exactly_alloc_measured(void);
void exactly_free_measured(void *slot);
void *waited_alloc_measured(void);
void waited_free_measured(void *slot);
void *known_alloc_measured(void);
void known_free_measured(void *slot);
void *flagged_alloc_measured(void);
void flagged_free_measured(void *slot);
void *things_get_measured(void);
void things_put_measured(void *object);
void *object_get_measured(cpool_objects_t *objects);
void object_put_measured(cpool_objects_t *objects, void *object);
void *frame_alloc_measured(cpool_frame_t *frame);
void frame_measured(cpool_frame_t *frame);
void *sized_alloc_measured(cpool_sized_t *blocks);
void sized_free_measured(cpool_sized_t *blocks, void *block);
void life_measured(void);

/* Sections and retired slots: instructions_retire.c. */
extern const struct instructions_mode instructions_retire[];

void section_measured(cpool_reader_t *reader);
int retire_measured(cpool_reader_t *reader, cpool_t *pool, void *slot);

/* Makes a pointer unknown to the compiler, and keeps a call from becoming a jump. */
#define INSTRUCTIONS_HIDE(p) __asm__ __volatile__("" : "+r"(p) : : "memory")

#endif /* BENCH_INSTRUCTIONS_H */
