/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.c - the index at the end of a book: on which lines each word is.
 *
 * Every word is a string of its own length, and its list of lines grows as the word is found
 * again.  The end of the allocator frees them all at once, so that nobody has to walk through the
 * index for that.
 *
 *     cc -std=c11 index.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/sized.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 128 };

struct word {
    struct word *next;
    unsigned *lines;
    size_t count, room; /* of lines */
    char text[];
};

static cpool_sized_t *blocks;
static struct word **table;

static void *require(void *block)
{
    if (block == NULL) {
        fputs("index: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return block;
}

static struct word **bucket_of(const char *text, size_t length)
{
    unsigned hash = 5381;

    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)text[i];
    return &table[hash % BUCKETS];
}

static struct word *find_or_add(const char *text, size_t length)
{
    struct word **bucket = bucket_of(text, length);
    struct word *word = *bucket;

    while (word != NULL && (strncmp(word->text, text, length) != 0 || word->text[length] != '\0'))
        word = word->next;
    if (word != NULL)
        return word;
    word = require(cpool_sized_calloc(blocks, 1, sizeof *word + length + 1));
    memcpy(word->text, text, length);
    word->next = *bucket;
    *bucket = word;
    return word;
}

/* A full list moves to a block of twice the size, and uses all bytes that this one really has. */
static void add_line(struct word *word, unsigned line)
{
    if (word->count > 0 && word->lines[word->count - 1] == line)
        return;
    if (word->count == word->room) {
        size_t wanted = (word->room > 0 ? 2 * word->room : 2) * sizeof *word->lines;

        word->lines = require(cpool_sized_realloc(blocks, word->lines, wanted));
        word->room = cpool_sized_usable_size(blocks, word->lines) / sizeof *word->lines;
    }
    word->lines[word->count++] = line;
}

static void add_text(const char *text)
{
    unsigned line = 1;

    while (*text != '\0') {
        size_t length = 0;

        while (isalpha((unsigned char)text[length]))
            length++;
        if (length > 0)
            add_line(find_or_add(text, length), line);
        line += text[length] == '\n';
        text += length + (text[length] != '\0');
    }
}

static void print_word(const char *text)
{
    const struct word *word = find_or_add(text, strlen(text));

    printf("%s:", text);
    for (size_t i = 0; i < word->count; i++)
        printf(" %u", word->lines[i]);
    putchar('\n');
}

static void print_figures(void)
{
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

    if (cpool_sized_read_stats(blocks, &stats) == 0)
        printf("%zu blocks of %zu classes, %zu of malloc\n", stats.live, stats.class_count,
               stats.fallback_live);
}

int main(void)
{
    static const char text[] = /* B. Cornwall, "The Sea", 1832 */
        "the sea! the sea! the open sea!\n"
        "the blue, the fresh, the ever free!\n"
        "without a mark, without a bound,\n"
        "it runneth the earth's wide regions round;\n"
        "it plays with the clouds; it mocks the skies;\n"
        "or like a cradled creature lies.\n";
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    int code;

    config.name = "index";
    config.max_size = 256;
    code = cpool_sized_create(&blocks, &config);
    if (code != 0) {
        fprintf(stderr, "index: %s\n", cpool_strerror(code));
        return EXIT_FAILURE;
    }
    table = require(cpool_sized_calloc(blocks, BUCKETS, sizeof(struct word *)));
    add_text(text);
    print_word("the");
    print_word("sea");
    print_word("it");
    print_figures();
    cpool_sized_free(blocks, table); /* malloc's, because it is larger than every class */
    code = cpool_sized_destroy(blocks);
    printf("the end took the rest: %s\n", cpool_strerror(code));
    return code == CPOOL_ELIVE ? EXIT_SUCCESS : EXIT_FAILURE;
}
