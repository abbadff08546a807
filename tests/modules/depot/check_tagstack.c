/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_tagstack.c - the tag, the largest index and the links of the tagged stack
 * (lib/depot/tagstack.h), alone.
 */
#include "support.h"

#include "depot/tagstack.h"

enum { NODES = 64 };

struct node {
    _Atomic uint32_t link;
    char rest[24]; /* links do not adjoin */
};

static struct node nodes[NODES + 1]; /* number 0 does not exist */
static const struct cpi_links links = { (char *)&nodes[1], sizeof(struct node) };
static struct cpi_tagstack stack;

static void push(uint32_t node)
{
    cpi_tagstack_push(&stack, &links, node);
}

static uint32_t pop(void)
{
    return cpi_tagstack_pop(&stack, &links);
}

static uint64_t tag(void)
{
    return atomic_load_explicit(&stack.head, memory_order_relaxed) >> CPI_INDEX_BITS;
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
        cpi_tagstack_push(&stack, &wide, node);
    for (uint32_t node = CPI_INDEX_MAX; node >= CPI_INDEX_MAX - 3; node--)
        REQUIRE_EQUAL(cpi_tagstack_pop(&stack, &wide), node);
    REQUIRE_EQUAL(tag(), 4);
    free(wide.links);
}

/* The links lie where the user of the stack has room for them: the first at the start. */
TEST(links_begin_at_their_start)
{
    for (uint32_t node = 1; node < 4; node++)
        REQUIRE((char *)cpi_link(&links, node) == links.links + (node - 1) * links.stride);
}
