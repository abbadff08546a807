/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exercise.c - calls every function of malloc's family, from several threads that come,
 * go and fork, with keys of more than the C library's first block of them.
 *
 *   exercise [ROUNDS]
 *   exercise full       all memory is taken in the smallest blocks, then given back.  For
 *                       an address space that has no room for classes
 *   exercise phases     whether memory goes back to the system when malloc_trim asks for it
 *
 * It knows nothing of pools.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

enum { THREADS = 4, HELD = 256, KEYS = 60, SIZE_MOST = 3000000 };

int malloc_trim(size_t pad) __attribute__((__weak__)); /* which musl lacks */

#define MEBI ((size_t)1024 * 1024)

static unsigned long rounds = 20000;
static pthread_key_t keys[KEYS];
static void *smallest[50000];
static void *shared[THREADS]; /* blocks that another thread frees */

static void fail(int line, const char *what)
{
    fprintf(stderr, "exercise.c:%d: %s\n", line, what);
    abort();
}

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static size_t some_size(unsigned *state)
{
    unsigned kind = next(state) % 1000;

    if (kind < 900)
        return next(state) % 600;
    return kind < 998 ? next(state) % 40000 : next(state) % SIZE_MOST;
}

static void fill(unsigned char *block, size_t size, unsigned char value)
{
    if (size > 0) {
        block[0] = value;
        block[size / 2] = value;
        block[size - 1] = value;
    }
}

static void require_filled(const unsigned char *block, size_t size, unsigned char value)
{
    if (size > 0)
        REQUIRE(block[0] == value && block[size / 2] == value && block[size - 1] == value);
}

/* A block of this size, by any function. */
static unsigned char *some_block(unsigned *state, size_t size)
{
    size_t align = (size_t)16 << next(state) % 9;
    void *block = NULL;

    switch (next(state) % 8) {
    case 0:
        block = calloc(1, size);
        for (size_t i = 0; i < size; i++)
            REQUIRE(((unsigned char *)block)[i] == 0);
        break;
    case 1:
        REQUIRE(posix_memalign(&block, align, size) == 0);
        REQUIRE((uintptr_t)block % align == 0);
        break;
    case 2:
        block = aligned_alloc(align, size);
        REQUIRE((uintptr_t)block % align == 0);
        break;
    case 3:
        block = memalign(align, size);
        REQUIRE((uintptr_t)block % align == 0);
        break;
    case 4:
        block = realloc(NULL, size);
        break;
    default:
        block = malloc(size);
    }
    REQUIRE(block != NULL && (uintptr_t)block % (size >= 16 ? 16 : 8) == 0);
    REQUIRE(malloc_usable_size(block) >= size);
    return block;
}

/* Allocates and frees in the last round of a thread's destructors, too. */
static void end_key(void *value)
{
    free(value);
    free(malloc(100));
}

static void churn(unsigned seed)
{
    unsigned char *held[HELD] = { NULL };
    size_t sizes[HELD] = { 0 };
    unsigned state = seed;

    for (unsigned long i = 0; i < rounds; i++) {
        unsigned at = next(&state) % HELD;
        size_t size = some_size(&state);

        if (held[at] != NULL) {
            require_filled(held[at], sizes[at], (unsigned char)at);
            if (next(&state) % 4 == 0 && size > 0) {
                size_t kept = size < sizes[at] ? size : sizes[at];

                held[at] = realloc(held[at], size);
                REQUIRE(held[at] != NULL && (kept == 0 || held[at][0] == (unsigned char)at));
                fill(held[at], sizes[at] = size, (unsigned char)at);
                continue;
            }
            free(held[at]);
        }
        held[at] = some_block(&state, size);
        fill(held[at], sizes[at] = size, (unsigned char)at);
    }
    for (unsigned at = 0; at < HELD; at++)
        free(held[at]);
}

static void fork_once(unsigned seed)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        churn(seed);
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void *work(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number;

    for (unsigned i = 0; i < KEYS; i++)
        REQUIRE(pthread_setspecific(keys[i], malloc(i)) == 0);
    churn(seed);
    shared[seed % THREADS] = strdup("from a thread that has ended");
    return NULL;
}

static void check_limits(void)
{
    volatile size_t huge = SIZE_MAX / 2 + 1;
    void *block = NULL;

    errno = 0;
    REQUIRE(malloc(huge) == NULL && errno == ENOMEM);
    REQUIRE(calloc(huge, 2) == NULL);
    REQUIRE(posix_memalign(&block, 24, 10) == EINVAL);
    free(realloc(malloc(1), 0));
    REQUIRE(malloc_usable_size(NULL) == 0);
    block = valloc(1);
    REQUIRE((uintptr_t)block % (uintptr_t)sysconf(_SC_PAGESIZE) == 0);
    errno = 7;
    free(block);
    free(NULL);
    REQUIRE(errno == 7);
}

/* Without stdio, whose buffer is a block.  Prints nothing if memory does not end. */
static void check_full(void)
{
    static char stray[256];
    void *volatile foreign = stray + 128;
    size_t most = sizeof smallest / sizeof *smallest;
    size_t count = 0;

    while (count < most && (smallest[count] = malloc(0)) != NULL)
        count++;
    if (count == most)
        return;
    for (int i = 0; i < 3; i++)
        REQUIRE(malloc(0) == NULL && malloc(SIZE_MAX / 3) == NULL && errno == ENOMEM);
    free(foreign);
    REQUIRE(malloc_usable_size(foreign) == 0 && realloc(foreign, 10) == NULL);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(malloc_usable_size(smallest[i]) >= 1);
        REQUIRE(i == 0 || smallest[i] != smallest[i - 1]);
        free(smallest[i]);
    }
    REQUIRE(write(STDOUT_FILENO, "full\n", 5) == 5);
}

static void fill_large(unsigned char *block, size_t size)
{
    for (size_t i = 0; i < size; i += 512)
        block[i] = (unsigned char)(i / 512 % 251);
}

static void require_large(const unsigned char *block, size_t size)
{
    for (size_t i = 0; i < size; i += 512)
        REQUIRE(block[i] == i / 512 % 251);
}

static void require_zero(const unsigned char *block, size_t size)
{
    for (size_t i = 0; i < size; i += 512)
        REQUIRE(block[i] == 0);
}

/* A part of the block that the system has in another mapping keeps it from growing as one. */
static void resize_parts(void)
{
    unsigned char *block = memalign(MEBI, 4 * MEBI);

    REQUIRE(block != NULL && madvise(block + MEBI, MEBI, MADV_SEQUENTIAL) == 0);
    fill_large(block, 4 * MEBI);
    block = realloc(block, 64 * MEBI);
    REQUIRE(block != NULL);
    require_large(block, 4 * MEBI);
    free(block);
}

/* Large blocks of many sizes, freed and resized in turn beside each other. */
static void churn_large(void)
{
    enum { BLOCKS = 12 };
    unsigned char *held[BLOCKS] = {NULL};
    size_t sizes[BLOCKS] = {0};
    unsigned state = 1;

    for (unsigned i = 0; i < 600; i++) {
        unsigned at = i * 5 % BLOCKS;
        size_t size = MEBI + next(&state) % (6 * MEBI);

        require_large(held[at], sizes[at]);
        if (i % 3 == 0) {
            unsigned char *moved = realloc(held[at], size);

            REQUIRE(moved != NULL);
            require_large(moved, size < sizes[at] ? size : sizes[at]);
            held[at] = moved;
        } else {
            free(held[at]);
            held[at] = i % 3 == 1 ? calloc(1, size) : memalign((size_t)64 << i % 17, size);
            REQUIRE(held[at] != NULL);
            REQUIRE(i % 3 == 1 || (uintptr_t)held[at] % ((size_t)64 << i % 17) == 0);
            if (i % 3 == 1)
                require_zero(held[at], size);
        }
        sizes[at] = size;
        fill_large(held[at], size);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(held[i]);
}

/* Phases with blocks of other sizes each.  Prints whether the memory of those before stays. */
static void go_through_phases(void)
{
    enum { PHASES = 16, BYTES = 60 };
    static char *held[BYTES * 1024 * 1024 / 700];
    struct rusage usage;

    for (size_t phase = 0; phase < PHASES; phase++) {
        size_t size = 700 + phase * 700;
        size_t count = BYTES * MEBI / size;

        for (size_t i = 0; i < count; i++)
            REQUIRE((held[i] = memset(malloc(size), 1, size)) != NULL);
        for (size_t i = 0; i < count; i++)
            free(held[i]);
        REQUIRE(malloc_trim != NULL && malloc_trim(0) == 1);
    }
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "%ld MiB\n", usage.ru_maxrss / 1024);
    puts(usage.ru_maxrss / 1024 < 2 * BYTES ? "given back" : "kept");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "full") == 0) {
        check_full();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "phases") == 0) {
        go_through_phases();
        return 0;
    }
    if (argc > 1)
        rounds = strtoul(argv[1], NULL, 10);
    check_limits();
    resize_parts();
    churn_large();
    for (int i = 0; i < KEYS; i++)
        REQUIRE(pthread_key_create(&keys[i], end_key) == 0);
    for (unsigned turn = 0; turn < 3; turn++) {
        pthread_t threads[THREADS];

        for (uintptr_t i = 0; i < THREADS; i++)
            REQUIRE(pthread_create(&threads[i], NULL, work, (void *)(turn * THREADS + i)) == 0);
        fork_once(turn);
        for (int i = 0; i < THREADS; i++)
            REQUIRE(pthread_join(threads[i], NULL) == 0);
        for (int i = 0; i < THREADS; i++)
            free(shared[i]);
    }
    puts("exercised");
    return 0;
}
