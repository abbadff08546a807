/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz.h - bytes as a program of calls over several pools, beside a model of them.
 *
 *   input.c    the bytes, failures, captured reports
 *   model.c    the contents of a pool: which slots are live, and their bytes
 *   create.c   configurations, right and wrong, and the ends of pools
 *   calls.c    calls that are right
 *   extras.c   explicit caches and frames
 *   wrong.c    calls that are wrong, and the codes that they must be reported with
 *   types.c    pools of a type
 *   target.c   from bytes to calls
 *   replay.c   a corpus as a test, without a fuzzer
 *
 * And of the libraries over pools, in ext/:
 *
 *   objects/tests/fuzz_objects.c  pools of objects, with a model of their hooks
 *   objects/tests/fuzz_ranks.c    priority pools, with a model of their order
 *   sized/tests/fuzz_blocks.c     blocks of many sizes
 *
 * One thread works at a time.  So the contracts say what each call returns.
 */
#ifndef CPOOL_TESTS_FUZZ_H
#define CPOOL_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>
#include <cpool/frame.h>
#include <cpool/track.h>

#include "figures.h"

/* --- Input, failures, reports (input.c) --- */

/* The bytes of this run. */
void input_begin(const uint8_t *bytes, size_t size);
bool input_left(void);

/* The next byte, 0 beyond the end, and numbers made of the next one or two. */
unsigned input_byte(void);
size_t input_below(size_t bound); /* 0 to bound - 1, from one byte */
size_t input_number(size_t bound); /* the same, from two bytes */

#define FUZZ_REQUIRE(condition) \
    ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

/* As FUZZ_REQUIRE(a == b) for integers, and shows both. */
#define FUZZ_EQUAL(a, b) \
    fuzz_equal((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)

_Noreturn void fuzz_fail(const char *file, int line, const char *what);
void fuzz_equal(long long a, long long b, const char *file, int line, const char *what);

/* Says what is done, where FUZZ_TRACE is in the environment. */
void fuzz_trace(const char *what, size_t number);

/* The reports that came since the last of these, which must all have had this code. */
void reports_begin(void);
size_t reports_with(int code);

/* Requires n reports of this code, and no other one, and forgets them. */
#define REPORTS_EQUAL(n, code) FUZZ_EQUAL(reports_with(code), (n))

/* --- Pools and their models (model.c) --- */

enum { POOLS = 3, CACHES = 2, FRAMES = 2 };

/* NEVER: not handed out since the pool began.  The last two are live. */
enum state { NEVER, FREE, HELD, IN_FRAME };

struct slot {
    uint8_t state;
    uint8_t frame;  /* which one */
    bool known;     /* its bytes are those of the seed */
    uint32_t seed;
    uint32_t place; /* in the list of held ones */
    cpool_handle_t handle;
};

struct model {
    cpool_t *pool; /* NULL: none */
    cpool_config_t config;
    size_t max;
    size_t limit; /* of indices */
    bool grows;
    bool tracked;
    bool checked;
    bool zero;     /* slots that were never used are */
    bool purged;   /* pages may have been given back */
    bool shrunk;   /* slots have been removed */
    unsigned type; /* of a pool of a type, or 0 */
    struct slot *slots;
    uint32_t *held;
    size_t n_held;
    size_t live;
    uint32_t next_seed;
    cpool_cache_t *caches[CACHES];
    cpool_frame_t *frames[FRAMES]; /* NULL: none */
    void *memory;
};

extern struct model models[POOLS];

/* A slot was obtained, or is about to go back.  Its bytes are verified either way. */
void model_take(struct model *model, void *slot, enum state state);
void model_take_zeroed(struct model *model, void *slot);
void model_give(struct model *model, size_t index);

/* Verifies that a slot is free for the pool, too. */
void model_is_free(const struct model *model, size_t index);

/* A slot that stays live gets another owner. */
void model_move(struct model *model, size_t index, enum state state);

/* The index of some held slot, from the input.  There is one. */
size_t model_some(const struct model *model);

/* All slots become free. */
void model_clear(struct model *model);

/* Whether an alloc has to succeed, and how many of a bulk have to. */
size_t model_obtainable(const struct model *model);

/* Verifies the bytes of all live slots, the figures, and the knowledge of tracked pools. */
void model_verify(struct model *model);

struct figures model_stats(const struct model *model);

/* --- The parts of programs --- */

void create_any(struct model *model);
void create_wrong(void);
void destroy_any(struct model *model, bool frees_all);

void call_any(struct model *model);
void extra_any(struct model *model);
void wrong_any(struct model *model);

/* Pools of a type (types.c), of which each type has one at most.  type_open says whether
 * there was none, and makes the pool of some type, from the model's configuration. */
bool type_open(struct model *model);
int type_close(struct model *model);
void *type_alloc(const struct model *model, bool zeroed);
void type_free(const struct model *model, void *slot);
size_t type_alloc_bulk(const struct model *model, void **slots, size_t n);
void type_free_bulk(const struct model *model, void **slots, size_t n);

void objects_any(void);
void objects_end(void);

void blocks_any(void);
void blocks_end(void);

void ranks_any(void);
void ranks_end(void);

/* The handle of a pool that has been destroyed in this run, or NULL. */
extern cpool_t *destroyed;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif /* CPOOL_TESTS_FUZZ_H */
