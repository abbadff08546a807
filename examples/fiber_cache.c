/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fiber_cache.c - a cache that travels with a task from thread to thread.
 *
 * A fiber runs on any free thread, so the thread's own cache would stay behind when the fiber moves
 * on.  cpool_cache_create makes a cache that belongs to the holder of the handle.  One thread at a
 * time may use it, and handing it over must synchronise: here by the mutex under which the fiber
 * changes threads.  A fiber that is about to sleep for long flushes its cache, so no free slots
 * sleep with it.
 *
 *     cc fiber_cache.c $(pkg-config --cflags --libs cpool) -pthread
 */
#include <cpool.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 3
#define STEPS 6
#define NODES_PER_STEP 100

struct node {
    struct node *next;
    int step;
};

/* A task in steps, each of which may run on another thread. */
struct fiber {
    cpool_cache_t *cache; /* moves with the fiber */
    struct node *nodes;   /* the slots it has allocated */
    int step;             /* the next one */
};

/* The only fiber, and the thread that runs it next. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static struct fiber fiber; /* used by the thread whose turn it is */
static int turn;           /* number of a thread; under the mutex */

/* The first half of the steps allocate, the second half free. */
static int fiber_step(struct fiber *self)
{
    int nodes = 0;

    if (self->step < STEPS / 2) {
        struct node *node;

        while (nodes < NODES_PER_STEP && (node = cpool_cache_alloc(self->cache)) != NULL) {
            node->step = self->step;
            node->next = self->nodes;
            self->nodes = node;
            nodes++;
        }
    } else {
        while (nodes < NODES_PER_STEP && self->nodes != NULL) {
            struct node *node = self->nodes;

            self->nodes = node->next;
            cpool_cache_free(self->cache, node);
            nodes++;
        }
        if (self->nodes == NULL) /* it sleeps until there is new work */
            cpool_cache_flush(self->cache);
    }
    return nodes;
}

static void *thread_main(void *argument)
{
    int self = *(const int *)argument;

    for (int visit = 0; visit < STEPS / THREADS; visit++) {
        int nodes;

        pthread_mutex_lock(&mutex);
        while (turn != self)
            pthread_cond_wait(&moved, &mutex);
        nodes = fiber_step(&fiber);
        printf("step %d on thread %d: %d nodes %s\n", fiber.step, self, nodes,
               fiber.step < STEPS / 2 ? "allocated" : "freed");
        fiber.step++;
        turn = (turn + 1) % THREADS;
        pthread_cond_broadcast(&moved);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static int run_threads(void)
{
    static int number[THREADS];
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        if (pthread_create(&thread[i], NULL, thread_main, &number[i]) != 0)
            return -1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *nodes;
    int error;

    config.name = "nodes";
    config.slot_size = sizeof(struct node);
    config.capacity = 10000;
    error = cpool_create(&nodes, &config);
    if (error == 0)
        error = cpool_cache_create(&fiber.cache, nodes);
    if (error != 0) {
        fprintf(stderr, "no pool or no cache: %s\n", cpool_strerror(error));
        return 1;
    }
    if (run_threads() != 0) {
        fputs("threads cannot be started\n", stderr);
        return 1;
    }
    cpool_cache_destroy(fiber.cache); /* its rounds go to the depot */
    return cpool_destroy(nodes) == 0 ? 0 : 1;
}
