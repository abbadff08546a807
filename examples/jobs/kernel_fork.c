/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_fork.c - kernels that only fork: fib, nqueens and quicksort.
 */
#include "kernel.h"

#include <stdlib.h>

#define FIB 27u
#define FIB_RESULT 196418u
#define QUEENS 11u
#define QUEENS_RESULT 2680u
#define SORTED ((size_t)1 << 20)
#define SORT_IN_PLACE 32u /* elements that one job sorts by insertion */

/* ---- fib ------------------------------------------------------------------------ */

/* a: the index.  The leaves 1 add up to the number. */
static void fib(struct worker *worker, struct job *job)
{
    struct kernel_job *self = kernel_job_of(job);

    if (self->a < 2) {
        atomic_store_explicit(&self->sum, self->a, memory_order_relaxed);
        return;
    }
    for (uint32_t less = 1; less <= 2; less++) {
        struct kernel_job room;
        struct kernel_job *child = kernel_prepare(worker, job, &room, fib, kernel_add_up);

        child->a = self->a - less;
        job_submit(worker, &child->head);
    }
}

static void fib_start(struct worker *worker, void *context)
{
    kernel_begin(worker, context, fib, FIB, NULL);
}

static bool fib_is_right(uint64_t result)
{
    return result == FIB_RESULT;
}

const struct kernel kernel_fib = {"fib", "Fibonacci number 27, a job for each call", NULL,
                                  fib_start, fib_is_right, NULL};

/* ---- nqueens --------------------------------------------------------------------- */

/* a: rows left.  b, c, d: columns and diagonals that are taken, as bits. */
static void queens(struct worker *worker, struct job *job)
{
    struct kernel_job *self = kernel_job_of(job);
    uint32_t open = ~(self->b | self->c | self->d) & ((1u << QUEENS) - 1u);

    if (self->a == 0) {
        atomic_store_explicit(&self->sum, 1u, memory_order_relaxed);
        return;
    }
    while (open != 0) {
        uint32_t place = open & -open;
        struct kernel_job room;
        struct kernel_job *child = kernel_prepare(worker, job, &room, queens, kernel_add_up);

        open ^= place;
        child->a = self->a - 1;
        child->b = self->b | place;
        child->c = (self->c | place) << 1;
        child->d = (self->d | place) >> 1;
        job_submit(worker, &child->head);
    }
}

static void queens_start(struct worker *worker, void *context)
{
    kernel_begin(worker, context, queens, QUEENS, NULL);
}

static bool queens_is_right(uint64_t result)
{
    return result == QUEENS_RESULT;
}

const struct kernel kernel_nqueens = {"nqueens", "11 queens, a job for each partial board", NULL,
                                      queens_start, queens_is_right, NULL};

/* ---- quicksort ------------------------------------------------------------------- */

static int *numbers;

static bool numbers_setup(void)
{
    uint32_t state = 1;

    numbers = malloc(SORTED * sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < SORTED; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (int)(state >> 1);
    }
    return numbers != NULL;
}

static void numbers_clean(void)
{
    free(numbers);
}

static void insertion_sort(int *from, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        int value = from[i];
        uint32_t j = i;

        for (; j > 0 && from[j - 1] > value; j--)
            from[j] = from[j - 1];
        from[j] = value;
    }
}

/* By Hoare: all before the result are at most as large as all from it on.  Neither part
 * is empty. */
static uint32_t partition(int *from, uint32_t n)
{
    int pivot = from[(n - 1) / 2];
    uint32_t low = 0;
    uint32_t high = n - 1;

    for (;;) {
        int kept;

        while (from[low] < pivot)
            low++;
        while (from[high] > pivot)
            high--;
        if (low >= high)
            return high + 1;
        kept = from[low];
        from[low++] = from[high];
        from[high--] = kept;
    }
}

/* from, a: the elements.  The sum counts those that were sorted in place. */
static void sort(struct worker *worker, struct job *job)
{
    struct kernel_job *self = kernel_job_of(job);
    uint32_t low;

    if (self->a <= SORT_IN_PLACE) {
        insertion_sort(self->from, self->a);
        atomic_store_explicit(&self->sum, self->a, memory_order_relaxed);
        return;
    }
    low = partition(self->from, self->a);
    for (int side = 0; side < 2; side++) {
        struct kernel_job room;
        struct kernel_job *child = kernel_prepare(worker, job, &room, sort, kernel_add_up);

        child->from = side == 0 ? self->from : self->from + low;
        child->a = side == 0 ? low : self->a - low;
        job_submit(worker, &child->head);
    }
}

static void sort_start(struct worker *worker, void *context)
{
    kernel_begin(worker, context, sort, (uint32_t)SORTED, numbers);
}

static bool sort_is_right(uint64_t result)
{
    for (size_t i = 1; i < SORTED; i++)
        if (numbers[i - 1] > numbers[i])
            return false;
    return result == SORTED;
}

const struct kernel kernel_quicksort = {"quicksort", "2^20 numbers, down to 32 in place",
                                        numbers_setup, sort_start, sort_is_right, numbers_clean};
