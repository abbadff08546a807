/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * corpus.c - see corpus.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "corpus.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Directories that nftw may keep open. */
#define OPEN_DIRECTORIES 32

/* nftw passes nothing on to its callback, hence these. */
static struct corpus *filled;
static size_t room;

/* A file that is being read ends with a line's end, for which there is room. */
static int read_file(const char *path, const struct stat *status, int type, struct FTW *where)
{
    FILE *file;

    (void)where;
    if (type != FTW_F || !S_ISREG(status->st_mode))
        return 0;
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    filled->length += fread(filled->text + filled->length, 1, room - filled->length, file);
    fclose(file);
    if (filled->length > 0 && filled->text[filled->length - 1] != '\n')
        filled->text[filled->length++] = '\n';
    return filled->length >= room;
}

/* Where `lines` lines from `begin` on end. */
static size_t skip_lines(const struct corpus *corpus, size_t begin, unsigned lines)
{
    while (lines > 0 && begin < corpus->length) {
        const unsigned char *end = memchr(corpus->text + begin, '\n', corpus->length - begin);

        begin = (size_t)(end - corpus->text) + 1;
        lines--;
    }
    return begin;
}

static bool cut(struct corpus *corpus)
{
    size_t begin = 0;

    while (begin < corpus->length) {
        begin = skip_lines(corpus, begin, CORPUS_LINES);
        corpus->piece_count++;
    }
    corpus->slice_count = (corpus->piece_count + CORPUS_PIECES - 1) / CORPUS_PIECES;
    corpus->pieces = calloc(corpus->piece_count + 1, sizeof *corpus->pieces);
    corpus->counts = calloc(corpus->slice_count, sizeof *corpus->counts);
    if (corpus->pieces == NULL || corpus->counts == NULL)
        return false;
    for (size_t i = 0; i < corpus->piece_count; i++)
        corpus->pieces[i + 1] = skip_lines(corpus, corpus->pieces[i], CORPUS_LINES);
    for (size_t i = 0; i < corpus->slice_count; i++) {
        size_t first = i * CORPUS_PIECES;
        size_t last = first + CORPUS_PIECES;

        if (last > corpus->piece_count)
            last = corpus->piece_count;
        text_count(&corpus->counts[i], corpus->text + corpus->pieces[first],
                   corpus->pieces[last] - corpus->pieces[first]);
    }
    return true;
}

bool corpus_read(struct corpus *corpus, const char *path, size_t limit)
{
    size_t length = strlen(path);
    char *below = malloc(length + sizeof "/.");

    *corpus = (struct corpus){.text = malloc(limit + 1)};
    filled = corpus;
    room = limit;
    if (below != NULL && corpus->text != NULL) {
        memcpy(below, path, length);
        memcpy(below + length, "/.", sizeof "/."); /* follow the path itself, if it is a link */
        nftw(below, read_file, OPEN_DIRECTORIES, FTW_PHYS);
        if (corpus->length == 0)
            fprintf(stderr, "lines: %s: there is no file to read\n", path);
        else if (cut(corpus)) {
            free(below);
            return true;
        }
    }
    if (corpus->length > 0 || below == NULL || corpus->text == NULL)
        fputs("lines: out of memory\n", stderr);
    free(below);
    corpus_free(corpus);
    return false;
}

size_t corpus_lines(const struct corpus *corpus, size_t slice)
{
    return (size_t)corpus->counts[slice].lines;
}

void corpus_free(struct corpus *corpus)
{
    free(corpus->text);
    free(corpus->pieces);
    free(corpus->counts);
    *corpus = (struct corpus){.text = NULL};
}
