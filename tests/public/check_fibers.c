/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fibers.c - fibers that go on in another thread in the middle of a function.
 *
 * A compiler may compute the address of thread-local storage once in a function, and use it on
 * both sides of a switch.  Each thread's cache must stay its own all the same.  The functions
 * that switch have loops with inlined operations, where compilers do that.  Compiled with
 * CPOOL_NO_INLINE as well.
 */
#include "support.h"

#include <stdatomic.h>
#include <ucontext.h>

/* musl has the header, and not the functions. */
#if defined(__linux__) && !defined(__GLIBC__)

int main(void)
{
    return support_skip_all("fibers", "this C library has no contexts");
}

#else

enum { STACK = 256 * 1024, SLOT_SIZE = 64, CAPACITY = 1000 };

/* --- Many fibers, of which each thread runs whichever is next ---
 *
 * Each slot has a word for its owner.  A slot that is handed out while somebody owns it was in
 * two threads' hands. */

enum { FIBERS = 64, THREADS = 4, HELD_MOST = 12, MAGAZINE = 8 };

struct crowd;

struct traveller {
    ucontext_t self;
    ucontext_t *thread; /* which runs it now */
    struct crowd *crowd;
    void *stack;
    unsigned bursts; /* to come */
    unsigned number;
    bool over;
};

typedef void travel_fn(struct traveller *self);

struct crowd {
    cpool_t *pool;
    travel_fn *travel;
    _Atomic(struct traveller *) *owners; /* of the slots, by index */
    size_t limit;
    atomic_size_t twice;  /* slots that had an owner already, or another one when freed */
    atomic_size_t failed; /* allocs without a slot, although few are live */
    struct traveller travellers[FIBERS];

    pthread_mutex_t mutex; /* guards all below */
    struct traveller *queue[FIBERS];
    unsigned first, waiting;
    unsigned travelling; /* not at their end */
    pthread_cond_t changed;
};

static struct crowd *crowd;
static cpool_t *by_descriptor;

static void own_slot(struct traveller *self, size_t index)
{
    if (index >= crowd->limit || atomic_exchange(&crowd->owners[index], self) != NULL)
        atomic_fetch_add(&crowd->twice, 1);
}

static void disown_slot(struct traveller *self, size_t index)
{
    if (index >= crowd->limit || atomic_exchange(&crowd->owners[index], NULL) != self)
        atomic_fetch_add(&crowd->twice, 1);
}

/* A function in which a fiber takes a few slots and gives them back, again and again, and may be
 * in another thread after each operation. */
#define TRAVEL(function, type, take, give, index)                                      \
    static void function(struct traveller *self)                                       \
    {                                                                                  \
        type *held[HELD_MOST];                                                         \
        unsigned i, n;                                                                 \
                                                                                       \
        for (; self->bursts > 0; self->bursts--) {                                     \
            n = 1 + (self->number + self->bursts) % HELD_MOST;                         \
            for (i = 0; i < n; i++) {                                                  \
                held[i] = take;                                                        \
                if (held[i] != NULL)                                                   \
                    own_slot(self, index(held[i]));                                    \
                else                                                                   \
                    atomic_fetch_add(&crowd->failed, 1);                               \
                swapcontext(&self->self, self->thread);                                \
            }                                                                          \
            for (i = 0; i < n; i++) {                                                  \
                if (held[i] != NULL) {                                                 \
                    disown_slot(self, index(held[i]));                                 \
                    give(held[i]);                                                     \
                }                                                                      \
                swapcontext(&self->self, self->thread);                                \
            }                                                                          \
        }                                                                              \
    }

struct parcel {
    char bytes[48];
};

CPOOL_DECLARE(parcels, struct parcel);
CPOOL_DEFINE(parcels, struct parcel, .capacity = CAPACITY, .magazine_rounds = MAGAZINE);

#define INDEX_BY_DESCRIPTOR(slot) cpool_index(by_descriptor, slot)
#define FREE_BY_DESCRIPTOR(slot) cpool_free(by_descriptor, slot)
TRAVEL(travel_by_descriptor, void, cpool_alloc(by_descriptor), FREE_BY_DESCRIPTOR,
       INDEX_BY_DESCRIPTOR)
TRAVEL(travel_typed, struct parcel, parcels_alloc(), parcels_free, parcels_index)

static void start_travel(int number)
{
    struct traveller *self = &crowd->travellers[number];

    crowd->travel(self);
    self->over = true;
    swapcontext(&self->self, self->thread);
}

/* Puts the fiber that was just left at the end of the queue, or counts its end, and returns the
 * next one, or NULL if all are at their end. */
static struct traveller *next_traveller(struct traveller *left)
{
    struct traveller *next = NULL;

    pthread_mutex_lock(&crowd->mutex);
    if (left != NULL && left->over)
        crowd->travelling--;
    else if (left != NULL)
        crowd->queue[(crowd->first + crowd->waiting++) % FIBERS] = left;
    pthread_cond_broadcast(&crowd->changed);
    while (crowd->waiting == 0 && crowd->travelling > 0)
        pthread_cond_wait(&crowd->changed, &crowd->mutex);
    if (crowd->waiting > 0) {
        next = crowd->queue[crowd->first];
        crowd->first = (crowd->first + 1) % FIBERS;
        crowd->waiting--;
    }
    pthread_mutex_unlock(&crowd->mutex);
    return next;
}

static void *run_travellers(void *unused)
{
    struct traveller *one = NULL;
    ucontext_t here;

    while ((one = next_traveller(one)) != NULL) {
        one->thread = &here;
        swapcontext(&here, &one->self);
    }
    return unused;
}

static void make_traveller(unsigned number)
{
    struct traveller *one = &crowd->travellers[number];

    one->number = number;
    one->bursts = SUPPORT_COUNT(200, 50);
    one->stack = support_calloc(1, STACK);
    REQUIRE_EQUAL(getcontext(&one->self), 0);
    one->self.uc_stack.ss_sp = one->stack;
    one->self.uc_stack.ss_size = STACK;
    makecontext(&one->self, (void (*)(void))start_travel, 1, (int)number);
    crowd->queue[crowd->waiting++] = one;
    crowd->travelling++;
}

/* Takes all slots there are, of which each must be without an owner, and all of them obtainable.
 * Returns how many are lost. */
static size_t take_all_again(void)
{
    void **slots = support_calloc(crowd->limit, sizeof(*slots));
    size_t n = 0;

    while (n < crowd->limit && (slots[n] = cpool_alloc(crowd->pool)) != NULL)
        own_slot(&crowd->travellers[0], cpool_index(crowd->pool, slots[n++]));
    for (size_t i = 0; i < n; i++)
        cpool_free(crowd->pool, slots[i]);
    free(slots);
    return n < CAPACITY ? CAPACITY - n : 0;
}

static void try_crowd(cpool_t *pool, travel_fn *travel)
{
    pthread_t threads[THREADS];
    size_t lost;

    crowd = support_calloc(1, sizeof(*crowd));
    crowd->pool = pool;
    crowd->travel = travel;
    crowd->limit = cpool_index_limit(pool);
    crowd->owners = support_calloc(crowd->limit, sizeof(*crowd->owners));
    pthread_mutex_init(&crowd->mutex, NULL);
    pthread_cond_init(&crowd->changed, NULL);
    for (unsigned i = 0; i < FIBERS; i++)
        make_traveller(i);
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = support_start(run_travellers, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        support_join(threads[i]);
    lost = take_all_again();
    if (crowd->twice + crowd->failed + lost > 0)
        printf("%zu slots had two owners, %zu allocs failed, %zu slots are lost\n", crowd->twice,
               crowd->failed, lost);
    REQUIRE_EQUAL(crowd->twice, 0);
    REQUIRE_EQUAL(crowd->failed, 0);
    REQUIRE_EQUAL(lost, 0);
    for (unsigned i = 0; i < FIBERS; i++)
        free(crowd->travellers[i].stack);
    pthread_cond_destroy(&crowd->changed);
    pthread_mutex_destroy(&crowd->mutex);
    free((void *)crowd->owners);
    free(crowd);
}

TEST(fibers_by_descriptor_share_no_slot)
{
    SKIP_IF(SUPPORT_SANITIZED, "sanitizers do not know of switched stacks");
    by_descriptor = SUPPORT_CREATE(SLOT_SIZE, CAPACITY, .magazine_rounds = MAGAZINE);
    try_crowd(by_descriptor, travel_by_descriptor);
    support_destroy_empty(by_descriptor);
}

TEST(fibers_of_typed_pool_share_no_slot)
{
    SKIP_IF(SUPPORT_SANITIZED, "sanitizers do not know of switched stacks");
    try_crowd(parcels_pool(), travel_typed);
    REQUIRE_EQUAL(parcels_close(), 0);
}

#endif
