/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recount.c - see recount.h.
 *
 * The program never calls setlocale, so <ctype.h> answers for the C locale.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "recount.h"

#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Directories nftw may keep open. */
#define OPEN_DIRECTORIES 64

#define BUCKETS ((size_t)1 << 18)

struct entry {
    struct entry *next;
    uint64_t count;
    size_t length;
    char text[IDENTIFIER_LENGTH];
};

/* nftw passes nothing on to its callback, hence these. */
static struct summary *counted;
static struct entry **buckets; /* BUCKETS lists */
static bool out_of_memory;

static void count_identifier(const char *text, size_t length)
{
    size_t hash = 5381;
    struct entry **link;

    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)text[i];
    link = &buckets[hash % BUCKETS];
    while (*link != NULL && ((*link)->length != length || memcmp((*link)->text, text, length) != 0))
        link = &(*link)->next;
    if (*link == NULL)
        *link = calloc(1, sizeof **link);
    if (*link == NULL) {
        out_of_memory = true;
        return;
    }
    (*link)->length = length;
    (*link)->count++;
    memcpy((*link)->text, text, length);
}

static void count_words(FILE *file)
{
    bool any = false;       /* within a word by WORDS_ANY */
    bool printable = false; /* within a word by WORDS_PRINTABLE */
    int c;

    while ((c = getc(file)) != EOF) {
        counted->bytes++;
        counted->lines += c == '\n';
        if (isspace(c)) {
            any = false;
            printable = false;
            continue;
        }
        counted->words[WORDS_ANY] += !any;
        any = true;
        if (isprint(c)) {
            counted->words[WORDS_PRINTABLE] += !printable;
            printable = true;
        }
    }
}

static void count_identifiers(FILE *file)
{
    char name[IDENTIFIER_LENGTH];
    size_t length = 0; /* of the run so far, without what does not count */
    int c;

    do {
        c = getc(file);
        if (c != EOF && (isalnum(c) || c == '_')) {
            if (length < IDENTIFIER_LENGTH)
                name[length++] = (char)c;
        } else {
            if (length > 0 && !isdigit((unsigned char)name[0]))
                count_identifier(name, length);
            length = 0;
        }
    } while (c != EOF);
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *where)
{
    FILE *file;

    (void)where;
    if (type == FTW_D)
        counted->directories++;
    if (type != FTW_F || !S_ISREG(status->st_mode))
        return 0;
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    counted->files++;
    count_words(file);
    rewind(file);
    count_identifiers(file);
    fclose(file);
    return out_of_memory;
}

static void empty_bucket(struct entry *entry)
{
    while (entry != NULL) {
        struct entry *next = entry->next;

        summary_offer(counted, entry->text, entry->length, entry->count);
        free(entry);
        entry = next;
    }
}

bool recount(const char *path, unsigned wanted, struct summary *summary)
{
    size_t length = strlen(path);
    char *below = malloc(length + sizeof "/.");

    summary_init(summary, wanted);
    counted = summary;
    out_of_memory = false;
    buckets = calloc(BUCKETS, sizeof(struct entry *));
    if (below == NULL || buckets == NULL) {
        free(below);
        free(buckets);
        return false;
    }
    memcpy(below, path, length);
    memcpy(below + length, "/.", sizeof "/."); /* follow the path itself, if it is a link */
    nftw(below, visit, OPEN_DIRECTORIES, FTW_PHYS);
    for (size_t i = 0; i < BUCKETS; i++)
        empty_bucket(buckets[i]);
    free(below);
    free(buckets);
    return !out_of_memory;
}
