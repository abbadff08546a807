/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack.c - scenarios of the tagged stack.
 */
#include "scenario.h"

#include <string.h>

#define CPI_ATOMIC_HEADER "points.h" /* its operations are points, too */
#include "depot/tagstack.h"

#define NODES_MAX 8

#define NOBODY EXPLORER_THREADS_MAX

static struct {
    struct cpi_tagstack stack;
    _Atomic uint32_t link[NODES_MAX];
    unsigned owner[NODES_MAX + 1];
    size_t nodes;
    uint32_t held[EXPLORER_THREADS_MAX][NODES_MAX];
    size_t holds[EXPLORER_THREADS_MAX];
} the;

static const struct cpi_links links = {(char *)the.link, sizeof the.link[0]};

static void push(uint32_t node)
{
    the.owner[node] = NOBODY;
    cpi_tagstack_push(&the.stack, &links, node);
}

static void stack_open(const struct scenario *scenario)
{
    memset(&the, 0, sizeof the);
    for (the.nodes = 0; the.nodes < scenario->capacity;)
        push((uint32_t)++the.nodes);
}

static uint32_t pop(unsigned thread)
{
    uint32_t node = cpi_tagstack_pop(&the.stack, &links);

    if (node > the.nodes)
        explorer_fail("a node that does not exist was popped");
    if (node != 0 && the.owner[node] != NOBODY)
        explorer_fail("a node was popped that has an owner");
    the.owner[node] = thread;
    return node;
}

static void push_oldest(unsigned thread)
{
    uint32_t node = the.held[thread][0];

    if (the.holds[thread] == 0)
        return;
    memmove(the.held[thread], the.held[thread] + 1,
            --the.holds[thread] * sizeof the.held[thread][0]);
    push(node);
}

static void stack_step(unsigned thread, char operation)
{
    uint32_t node;

    if (operation == 'u') {
        push_oldest(thread);
        return;
    }
    node = pop(thread);
    if (node != 0)
        the.held[thread][the.holds[thread]++] = node;
}

static void stack_end(unsigned thread)
{
    while (the.holds[thread] > 0)
        push_oldest(thread);
}

static void stack_close(void)
{
    size_t found = 0;

    while (pop(0) != 0)
        found++;
    if (found != the.nodes)
        explorer_fail("a node was lost");
}

const struct kind stack_kind = {stack_open, stack_step, stack_end, stack_close};
