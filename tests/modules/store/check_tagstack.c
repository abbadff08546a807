/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_tagstack.c - the tagged stack (lib/store/tagstack.h), alone.
 *
 * The header is included with a point between its atomic operations at which a
 * test may interfere: the same thread does there the actions of another one, at
 * every place in turn.
 */
#include "support.h"

#include <stdlib.h>

static void point(void);

#define CPI_ATOMIC_POINT() point()

#include "store/tagstack.h"

enum { NODES = 64 };

struct node {
    _Atomic uint32_t link;
    char rest[24]; /* links do not adjoin */
};

static struct node nodes[NODES + 1]; /* number 0 does not exist */
static const struct cpi_links links = { (char *)&nodes[1], sizeof(struct node) };
static struct cpi_tagstack stack;

/* The interference, and after how many operations it happens (0: never). */
static void (*interfere)(void);
static _Thread_local int operations_left;

static void point(void)
{
    if (operations_left > 0 && --operations_left == 0)
        interfere();
}

static void push(uint32_t node)
{
    (void)cpi_tagstack_push(&stack, &links, node);
}

static uint32_t pop(void)
{
    uint64_t retries = 0;

    return cpi_tagstack_pop(&stack, &links, &retries);
}

static uint64_t tag(void)
{
    return atomic_load_explicit(&stack.head, memory_order_relaxed) >> CPI_INDEX_BITS;
}

static void clear_stack(void)
{
    operations_left = 0;
    atomic_store_explicit(&stack.head, 0, memory_order_relaxed);
}

TEST(pop_of_empty_stack_is_zero)
{
    REQUIRE_EQUAL(pop(), 0);
    REQUIRE_EQUAL(cpi_tagstack_top(&stack), 0);
    push(1);
    REQUIRE_EQUAL(pop(), 1);
    REQUIRE_EQUAL(pop(), 0);
}

TEST(pop_gives_the_last_pushed)
{
    for (uint32_t node = 1; node <= NODES; node++) {
        push(node);
        REQUIRE_EQUAL(cpi_tagstack_top(&stack), node);
        REQUIRE_EQUAL(cpi_tagstack_below(&links, node), node - 1);
    }
    for (uint32_t node = NODES; node >= 1; node--) {
        REQUIRE_EQUAL(pop(), node);
    }
    REQUIRE_EQUAL(pop(), 0);
}

TEST(tag_advances_with_every_removal_and_nothing_else)
{
    uint64_t before = tag();

    for (uint32_t node = 1; node <= NODES; node++) {
        push(node);
        REQUIRE_EQUAL(tag(), before);
    }
    for (int i = 0; i < NODES; i++) {
        (void)pop();
        REQUIRE_EQUAL(tag(), ++before);
    }
    (void)pop();
    REQUIRE_EQUAL(tag(), before);
    push(1);
    push(2);
    cpi_tagstack_clear(&stack);
    REQUIRE_EQUAL(tag(), before + 1);
    REQUIRE_EQUAL(cpi_tagstack_top(&stack), 0);
    REQUIRE_EQUAL(pop(), 0);
}

TEST(tag_at_its_end_comes_round)
{
    uint64_t last = UINT64_MAX >> CPI_INDEX_BITS;

    atomic_store_explicit(&stack.head, last << CPI_INDEX_BITS, memory_order_relaxed);
    push(3);
    push(NODES);
    REQUIRE_EQUAL(pop(), NODES);
    REQUIRE_EQUAL(tag(), 0);
    REQUIRE_EQUAL(pop(), 3);
    REQUIRE_EQUAL(tag(), 1);
    REQUIRE_EQUAL(pop(), 0);
}

TEST(largest_index_fits_beside_the_tag)
{
    /* A node's place is computed, so the link of the largest one must exist. */
    size_t stride = sizeof(_Atomic uint32_t);
    struct cpi_links wide;

    wide.links = support_calloc(CPI_INDEX_MAX, stride);
    wide.stride = stride;
    for (uint32_t node = CPI_INDEX_MAX - 3; node <= CPI_INDEX_MAX; node++)
        (void)cpi_tagstack_push(&stack, &wide, node);
    for (uint32_t node = CPI_INDEX_MAX; node >= CPI_INDEX_MAX - 3; node--) {
        uint64_t retries = 0;

        REQUIRE_EQUAL(cpi_tagstack_pop(&stack, &wide, &retries), node);
    }
    REQUIRE_EQUAL(tag(), 4);
    free(wide.links);
}

/*
 * ---- Interference --------------------------------------------------------
 */

/* Another thread's actions on a stack of 1 on 2 on 3, while this one pops. */

/* The ABA case: 1 comes back, but 2 is not below it any more. */
static void pop_two_and_push_the_first(void)
{
    uint32_t first = pop();
    uint32_t second = pop();

    REQUIRE(first == 1 && second == 2);
    push(first);
}

/* The same the other way round: 1 comes back on top of a new node. */
static void pop_one_and_push_it_on_another(void)
{
    REQUIRE_EQUAL(pop(), 1);
    push(4);
    push(1);
}

static void pop_all_and_push_them_in_reverse(void)
{
    for (uint32_t node = 1; node <= 3; node++)
        REQUIRE_EQUAL(pop(), node);
    for (uint32_t node = 1; node <= 3; node++)
        push(node);
}

static void push_one(void)
{
    push(4);
}

static void pop_all(void)
{
    while (pop() != 0)
        ;
}

static const struct interference {
    void (*act)(void);
    unsigned left; /* nodes in the stack afterwards, a bit each */
} interferences[] = {
    { pop_two_and_push_the_first, 1u << 1 | 1u << 3 },
    { pop_one_and_push_it_on_another, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 },
    { pop_all_and_push_them_in_reverse, 1u << 1 | 1u << 2 | 1u << 3 },
    { push_one, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 },
    { pop_all, 0 },
};

#define INTERFERENCES (sizeof(interferences) / sizeof(interferences[0]))

/* The nodes that are left, each once. */
static unsigned drain(void)
{
    unsigned left = 0;
    uint32_t node;

    while ((node = pop()) != 0) {
        REQUIRE(node <= NODES);
        REQUIRE((left & 1u << node) == 0);
        left |= 1u << node;
    }
    return left;
}

static void make_three(void)
{
    clear_stack();
    for (uint32_t node = 3; node >= 1; node--)
        push(node);
}

/* More than the operations of one pop or push, so that every gap is tried. */
enum { GAPS = 8 };

TEST_TIMES(pop_interrupted_anywhere_loses_and_doubles_nothing, INTERFERENCES)
{
    const struct interference *interference = &interferences[_i];
    int met = 0;

    interfere = interference->act;
    for (int gap = 1; gap <= GAPS; gap++) {
        unsigned all = interference->left;
        uint32_t node;
        bool happened;

        make_three();
        operations_left = gap;
        node = pop();
        happened = operations_left == 0;
        operations_left = 0;
        if (!happened)
            all = 1u << 1 | 1u << 2 | 1u << 3;
        REQUIRE(node == 0 || (all & 1u << node) != 0);
        REQUIRE(drain() == (node == 0 ? all : all & ~(1u << node)));
        met += happened;
    }
    /* Before the load of the head, of the link,
     * and before the exchange. */
    REQUIRE(met >= 3);
}

static uint32_t push_nine(void)
{
    return cpi_tagstack_push(&stack, &links, 9);
}

TEST_TIMES(push_interrupted_anywhere_loses_and_doubles_nothing, INTERFERENCES)
{
    const struct interference *interference = &interferences[_i];
    int met = 0;

    interfere = interference->act;
    for (int gap = 1; gap <= GAPS; gap++) {
        bool happened;
        unsigned all;

        make_three();
        operations_left = gap;
        (void)push_nine();
        happened = operations_left == 0;
        operations_left = 0;
        all = happened ? interference->left : 1u << 1 | 1u << 2 | 1u << 3;
        REQUIRE(drain() == (all | 1u << 9));
        met += happened;
    }
    REQUIRE(met >= 3);
}

static uint32_t pop_one(void)
{
    uint64_t retries = 1; /* it adds */

    REQUIRE(cpi_tagstack_pop(&stack, &links, &retries) != 0);
    return (uint32_t)retries - 1;
}

/* Another thread changes the head before the last operation, which is the exchange. */
TEST_TIMES(overtaken_exchange_counts_its_retry, 2)
{
    static uint32_t (*const acts[])(void) = {push_nine, pop_one};
    enum { MOST = 100 };
    int operations;

    interfere = push_one;
    make_three();
    operations_left = MOST;
    REQUIRE_EQUAL(acts[_i](), 0);
    operations = MOST - operations_left;
    make_three();
    operations_left = operations;
    REQUIRE_EQUAL(acts[_i](), 1);
    REQUIRE_EQUAL(operations_left, 0);
}

/*
 * ---- Links ---------------------------------------------------------------
 */

/* The links lie where the user of the stack has room for them: the first at the start. */
TEST(links_begin_at_their_start)
{
    for (uint32_t node = 1; node < 4; node++)
        REQUIRE((char *)cpi_link(&links, node) == links.links + (node - 1) * links.stride);
}
