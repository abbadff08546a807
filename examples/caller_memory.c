/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caller_memory.c - a pool in memory that the program provides.
 *
 * For programs that must not ask the system for memory while they run: the pool, with slots and
 * bookkeeping, is in a static array.  cpool_memory_required returns the number of bytes.
 *
 *     cc caller_memory.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool.h>
#include <stdio.h>

#define MESSAGES 16

struct message {
    int length;
    char text[60];
};

static _Alignas(CPOOL_MEMORY_ALIGN) unsigned char memory[64 * 1024];

static bool lies_in_memory(const void *slot)
{
    const unsigned char *address = slot;

    return address >= memory && address < memory + sizeof memory;
}

/* Allocates all messages, and frees them. */
static void take_all(cpool_t *messages)
{
    struct message *taken[MESSAGES];
    int count = 0;
    int inside = 0;

    while (count < MESSAGES && (taken[count] = cpool_alloc(messages)) != NULL)
        inside += lies_in_memory(taken[count++]);
    printf("%d messages, %d of them in our own memory\n", count, inside);
    printf("one more: %s\n", cpool_alloc(messages) == NULL ? "none left" : "there should be none");
    while (count > 0)
        cpool_free(messages, taken[--count]);
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *messages;
    int error;

    config.name = "messages";
    config.slot_size = sizeof(struct message);
    config.capacity = MESSAGES;
    config.thread_caches = 2; /* fewer threads, less bookkeeping */
    config.memory = memory;
    config.memory_size = sizeof memory;
    if (cpool_memory_required(&config) > sizeof memory) {
        fprintf(stderr, "the array should have %zu bytes\n", cpool_memory_required(&config));
        return 1;
    }
    error = cpool_create(&messages, &config);
    if (error != 0) {
        fprintf(stderr, "no pool: %s\n", cpool_strerror(error));
        return 1;
    }
    take_all(messages);
    return cpool_destroy(messages) == 0 ? 0 : 1; /* the array is ours again */
}
