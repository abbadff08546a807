/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_chain.c - kernels in which a job makes the job that follows it: cholesky and
 * message-ring.
 *
 * A follower is a child of the same parent, which waits for all of them.
 */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- cholesky -------------------------------------------------------------------- */

#define TILE 8u   /* rows and columns of a tile */
#define TILES 40u /* in a row and in a column of the matrix */
#define SIDE (TILE * TILES)

typedef double tile[TILE][TILE];

static tile *matrix; /* the lower tiles, by row; becomes its factor */

static tile *tile_at(uint32_t row, uint32_t column)
{
    return &matrix[row * TILES + column];
}

/* Element of the matrix that is factored: symmetric, and positive definite because its
 * diagonal outweighs the rest of the row. */
static double element(uint32_t i, uint32_t j)
{
    uint32_t distance = i > j ? i - j : j - i;

    return i == j ? 4.0 : 1.0 / (1.0 + (double)distance * (double)distance);
}

static bool matrix_setup(void)
{
    matrix = calloc((size_t)TILES * TILES, sizeof *matrix);
    for (uint32_t i = 0; matrix != NULL && i < SIDE; i++)
        for (uint32_t j = 0; j < SIDE; j++)
            (*tile_at(i / TILE, j / TILE))[i % TILE][j % TILE] = element(i, j);
    return matrix != NULL;
}

static void matrix_clean(void)
{
    free(matrix);
}

static void factor_tile(tile *t)
{
    for (uint32_t j = 0; j < TILE; j++) {
        for (uint32_t k = 0; k < j; k++)
            for (uint32_t i = j; i < TILE; i++)
                (*t)[i][j] -= (*t)[i][k] * (*t)[j][k];
        (*t)[j][j] = sqrt((*t)[j][j]);
        for (uint32_t i = j + 1; i < TILE; i++)
            (*t)[i][j] /= (*t)[j][j];
    }
}

/* a, b: row and column of a tile below the diagonal: solves it by the diagonal's. */
static void solve(struct worker *worker, struct job *job)
{
    struct kernel_job *self = kernel_job_of(job);
    tile *t = tile_at(self->a, self->b);
    tile *diagonal = tile_at(self->b, self->b);

    (void)worker;
    for (uint32_t i = 0; i < TILE; i++)
        for (uint32_t j = 0; j < TILE; j++) {
            for (uint32_t k = 0; k < j; k++)
                (*t)[i][j] -= (*t)[i][k] * (*diagonal)[j][k];
            (*t)[i][j] /= (*diagonal)[j][j];
        }
    atomic_store_explicit(&self->sum, 1u, memory_order_relaxed);
}

/* a, b: row and column of a tile, from which the product of two tiles of column c is
 * taken away. */
static void update(struct worker *worker, struct job *job)
{
    struct kernel_job *self = kernel_job_of(job);
    tile *t = tile_at(self->a, self->b);
    tile *left = tile_at(self->a, self->c);
    tile *right = tile_at(self->b, self->c);

    (void)worker;
    for (uint32_t i = 0; i < TILE; i++)
        for (uint32_t j = 0; j < TILE; j++)
            for (uint32_t k = 0; k < TILE; k++)
                (*t)[i][j] -= (*left)[i][k] * (*right)[j][k];
    atomic_store_explicit(&self->sum, 1u, memory_order_relaxed);
}

static void submit_tile(struct worker *worker, struct job *parent, job_function *body,
                        uint32_t row, uint32_t column, uint32_t by)
{
    struct kernel_job room;
    struct kernel_job *child = kernel_prepare(worker, parent, &room, body, kernel_add_up);

    child->a = row;
    child->b = column;
    child->c = by;
    job_submit(worker, &child->head);
}

static void follow(struct worker *worker, struct job *job, job_function *body,
                   job_function *then, uint32_t column);
static void panel(struct worker *worker, struct job *job);

static void after_updates(struct worker *worker, struct job *job)
{
    uint32_t next = kernel_job_of(job)->a + 1;

    kernel_add_up(worker, job);
    follow(worker, job, panel, NULL, next);
}

/* a: the column by which all tiles to the right of it are updated. */
static void updates(struct worker *worker, struct job *job)
{
    uint32_t column = kernel_job_of(job)->a;

    for (uint32_t j = column + 1; j < TILES; j++)
        for (uint32_t i = j; i < TILES; i++)
            submit_tile(worker, job, update, i, j, column);
}

static void after_panel(struct worker *worker, struct job *job)
{
    uint32_t column = kernel_job_of(job)->a;

    kernel_add_up(worker, job);
    if (column + 1 < TILES)
        follow(worker, job, updates, after_updates, column);
}

/* a: the column that is factored, the diagonal's tile at once. */
static void panel(struct worker *worker, struct job *job)
{
    uint32_t column = kernel_job_of(job)->a;

    factor_tile(tile_at(column, column));
    for (uint32_t i = column + 1; i < TILES; i++)
        submit_tile(worker, job, solve, i, column, 0);
}

static void follow(struct worker *worker, struct job *job, job_function *body,
                   job_function *then, uint32_t column)
{
    struct kernel_job room;
    struct kernel_job *next = kernel_prepare(worker, job->parent, &room, body,
                                             then != NULL ? then : after_panel);

    next->a = column;
    job_submit(worker, &next->head);
}

static void cholesky(struct worker *worker, struct job *job)
{
    struct kernel_job room;
    struct kernel_job *first = kernel_prepare(worker, job, &room, panel, after_panel);

    first->a = 0;
    job_submit(worker, &first->head);
}

static void cholesky_start(struct worker *worker, void *context)
{
    kernel_begin(worker, context, cholesky, 0, NULL);
}

/* The factor times itself gives the matrix back, at rows and columns all over it. */
static bool cholesky_is_right(uint64_t result)
{
    for (uint32_t i = 0; i < SIDE; i += 7) {
        for (uint32_t j = 0; j <= i; j += 5) {
            double sum = 0;

            for (uint32_t k = 0; k <= j; k++)
                sum += (*tile_at(i / TILE, k / TILE))[i % TILE][k % TILE] *
                       (*tile_at(j / TILE, k / TILE))[j % TILE][k % TILE];
            if (fabs(sum - element(i, j)) > 1e-9)
                return false;
        }
    }
    /* Tiles that were solved, and for each column those right of and below it. */
    return result == TILES * (TILES - 1) / 2 + (TILES - 1) * TILES * (TILES + 1) / 6;
}

const struct kernel kernel_cholesky = {"cholesky", "320 x 320 in tiles of 8 x 8", matrix_setup,
                                       cholesky_start, cholesky_is_right, matrix_clean};

/* ---- message-ring ---------------------------------------------------------------- */

#define ACTORS 64u  /* messages under way at once, each of which goes round */
#define HOPS 10000u /* of each message */

static void hop(struct worker *worker, struct job *job);

static void pass(struct worker *worker, struct job *parent, uint32_t left)
{
    struct kernel_job room;
    struct kernel_job *message = kernel_prepare(worker, parent, &room, hop, kernel_add_up);

    message->a = left;
    job_submit(worker, &message->head);
}

/* a: hops that are left.  An actor takes a message, and sends a new one to the next. */
static void hop(struct worker *worker, struct job *job)
{
    struct kernel_job *self = kernel_job_of(job);

    atomic_store_explicit(&self->sum, 1u, memory_order_relaxed);
    if (self->a > 1)
        pass(worker, job->parent, self->a - 1);
}

static void ring(struct worker *worker, struct job *job)
{
    for (uint32_t i = 0; i < ACTORS; i++)
        pass(worker, job, HOPS);
}

static void ring_start(struct worker *worker, void *context)
{
    kernel_begin(worker, context, ring, 0, NULL);
}

static bool ring_is_right(uint64_t result)
{
    return result == (uint64_t)ACTORS * HOPS;
}

const struct kernel kernel_message_ring = {"message-ring", "64 messages, 10,000 hops each", NULL,
                                           ring_start, ring_is_right, NULL};
