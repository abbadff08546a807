/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * broker.c - messages of many sizes, kept until somebody reads them.
 *
 * For programs whose blocks differ in size, and come and go all the time.  A message is a block of
 * its own length.  Acknowledgements all have one size, so they come from the pool of their class,
 * on the shortest path there is.  The journal's pages are aligned as direct input and output wants
 * it.  The operator sees how much of a class is in use.  At night, when nearly all messages have
 * been read, their memory goes back.
 *
 *     cc -std=c11 broker.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/sized.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 2000
#define LONGEST 1900
#define SECTOR 512
#define PAGE 4096 /* of the journal */

struct message {
    struct message *next;
    size_t length;
    char text[];
};

struct acknowledgement {
    unsigned number;
    char reader[20];
};

static cpool_sized_t *blocks;
static struct message *first, **last = &first;

static void *require(void *block)
{
    if (block == NULL) {
        fputs("broker: out of memory\n", stderr);
        exit(1);
    }
    return block;
}

static void keep_message(size_t length)
{
    struct message *message = require(cpool_sized_alloc(blocks, sizeof *message + length));

    message->next = NULL;
    message->length = length;
    memset(message->text, 'x', length);
    *last = message;
    last = &message->next;
}

/* Returns the bytes of all texts. */
static size_t read_messages(void)
{
    size_t bytes = 0;

    while (first != NULL) {
        struct message *message = first;

        first = message->next;
        bytes += message->length;
        cpool_sized_free(blocks, message);
    }
    last = &first;
    return bytes;
}

static cpool_sized_class_t class_of(size_t size)
{
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;

    if (cpool_sized_class_of(blocks, size, &class) != 0) {
        fprintf(stderr, "broker: no class for %zu bytes\n", size);
        exit(1);
    }
    return class;
}

/* The class has its pool as soon as its first block was wanted. */
static void acknowledge(unsigned n)
{
    cpool_sized_class_t class;

    cpool_sized_free(blocks, require(cpool_sized_alloc(blocks, sizeof(struct acknowledgement))));
    class = class_of(sizeof(struct acknowledgement));
    for (unsigned i = 0; i < n; i++) {
        struct acknowledgement *sent = require(cpool_alloc(class.source));

        sent->number = i;
        cpool_sized_free(blocks, sent);
    }
}

static void show_class(size_t size)
{
    cpool_sized_class_t class = class_of(size);
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (cpool_read_stats(class.pool, &stats) == 0)
        printf("%zu blocks of %zu bytes are in use\n", stats.live, class.block_size);
}

static bool write_journal(void)
{
    unsigned char *page = require(cpool_sized_alloc_aligned(blocks, PAGE, SECTOR));
    bool is_aligned = (uintptr_t)page % SECTOR == 0;

    memset(page, 0, PAGE);
    cpool_sized_free(blocks, page); /* pwrite(journal, page, PAGE, end) stands before this */
    return is_aligned;
}

int main(void)
{
    static const size_t lengths[4] = { 30, LONGEST, 200, 777 };
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    bool is_aligned;
    size_t bytes;
    int code;

    config.name = "messages";
    config.flags = CPOOL_SIZED_BOUNDED; /* no malloc behind it */
    code = cpool_sized_create(&blocks, &config);
    if (code != 0) {
        fprintf(stderr, "broker: %s\n", cpool_strerror(code));
        return 1;
    }
    for (size_t i = 0; i < MESSAGES; i++)
        keep_message(lengths[i % 4]);
    acknowledge(MESSAGES);
    show_class(LONGEST);
    is_aligned = write_journal();
    bytes = read_messages();
    printf("%d messages of %zu bytes were read, and %s\n", MESSAGES, bytes,
           is_aligned ? "the journal is written" : "no page of the journal is aligned");
    cpool_sized_trim(blocks); /* at night */
    return cpool_sized_destroy(blocks) == 0 && is_aligned ? 0 : 1;
}
