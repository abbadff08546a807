/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions.h - the functions that are counted.
 *
 * Each does one thing and nothing else, once or in a loop.  instructions.sh counts the
 * instructions executed between their first instruction and their return, and looks at
 * their code.  A loop's own instructions are those of the loop around nothing.
 */
#ifndef BENCH_INSTRUCTIONS_H
#define BENCH_INSTRUCTIONS_H

#include <cpool.h>
#include <cpool/frame.h>
#include <cpool/object.h>
#include <cpool/retire.h>
#include <cpool/sized.h>

/* Never inlined: callgrind knows these by name. */
#define COUNTED __attribute__((__noinline__))

/* Inline, the calling thread's cache. */
void *measured_inline_alloc(cpool_t *pool);
void measured_inline_free(cpool_t *pool, void *slot);
void measured_inline_loop_alloc(cpool_t *pool, void **slots, size_t n);
void measured_inline_loop_free(cpool_t *pool, void **slots, size_t n);
void measured_inline_loop_pair(cpool_t *pool, void **slots, size_t n);

/* Inline, an explicit cache. */
void *measured_cache_alloc(cpool_cache_t *cache);
void measured_cache_free(cpool_cache_t *cache, void *slot);
void measured_cache_loop_alloc(cpool_cache_t *cache, void **slots, size_t n);
void measured_cache_loop_free(cpool_cache_t *cache, void **slots, size_t n);
void measured_cache_loop_pair(cpool_cache_t *cache, void **slots, size_t n);

/* Inline, typed pools: 64 bytes, and 48. */
void *measured_typed_alloc(void);
void measured_typed_free(void *slot);
void *measured_uneven_alloc(void);
void measured_uneven_free(void *slot);
void measured_typed_loop_alloc(cpool_t *pool, void **slots, size_t n);
void measured_typed_loop_free(cpool_t *pool, void **slots, size_t n);
void measured_typed_loop_pair(cpool_t *pool, void **slots, size_t n);

/* The same loops around nothing. */
void measured_empty_loop_alloc(cpool_t *pool, void **slots, size_t n);
void measured_empty_loop_free(cpool_t *pool, void **slots, size_t n);
void measured_empty_loop_pair(cpool_t *pool, void **slots, size_t n);

/* The symbols of the library: instructions_outline.c. */
void *measured_outline_alloc(cpool_t *pool);
void measured_outline_free(cpool_t *pool, void *slot);

/* The modes: instructions_modes.c. */
struct instructions_mode {
    const char *name;
    void (*run)(size_t n); /* n operations */
};

/* Their parts, up to one without a name. */
extern const struct instructions_mode instructions_modes[];

void instructions_modes_create(void);
void instructions_modes_destroy(void);
void *measured_exactly_alloc(void);
void measured_exactly_free(void *slot);
void *measured_waited_alloc(void);
void measured_waited_free(void *slot);
void *measured_known_alloc(void);
void measured_known_free(void *slot);
void *measured_flagged_alloc(void);
void measured_flagged_free(void *slot);
void *measured_things_get(void);
void measured_things_put(void *object);
void *measured_object_get(cpool_objects_t *objects);
void measured_object_put(cpool_objects_t *objects, void *object);
void *measured_frame_alloc(cpool_frame_t *frame);
void measured_frame(cpool_frame_t *frame);
void *measured_sized_alloc(cpool_sized_t *blocks);
void measured_sized_free(cpool_sized_t *blocks, void *block);
void measured_life(void);

/* Sections and retired slots: instructions_retire.c. */
extern const struct instructions_mode instructions_retire[];

void measured_section(cpool_reader_t *reader);
int measured_retire(cpool_reader_t *reader, cpool_t *pool, void *slot);

/* Makes a pointer unknown to the compiler, and keeps a call from becoming a jump. */
#define INSTRUCTIONS_HIDE(p) __asm__ __volatile__("" : "+r"(p) : : "memory")

#endif /* BENCH_INSTRUCTIONS_H */
