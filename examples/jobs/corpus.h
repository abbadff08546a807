/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * corpus.h - the text of a directory tree in memory, cut into pieces of lines.
 *
 *     text   [ line line ... line | line line ... line | ... ]
 *     pieces ^                    ^                    ^       each CORPUS_LINES lines
 *     slices ^ CORPUS_PIECES pieces, of which the last slice may have fewer
 *
 * For each slice the counts are known, by one thread that counted it as a whole.
 *
 * Includes text.h.
 */
#ifndef JOBS_CORPUS_H
#define JOBS_CORPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

#define CORPUS_LINES 64u  /* lines of a piece */
#define CORPUS_PIECES 64u /* pieces of a slice */

struct corpus {
    unsigned char *text;
    size_t length;              /* bytes; the last one is a line's end */
    size_t *pieces;             /* where each begins, and the end of the last */
    size_t piece_count;         /* 1 or more */
    size_t slice_count;         /* 1 or more */
    struct text_counts *counts; /* of each slice */
};

/*
 * Reads the regular files below a directory, in the order in which they are found, until
 * there are `limit` bytes.  Files that cannot be read are left out.
 *
 * Returns true.  False after a complaint on standard error: no file, or out of memory.
 */
bool corpus_read(struct corpus *corpus, const char *path, size_t limit);

/* Lines of one slice. */
size_t corpus_lines(const struct corpus *corpus, size_t slice);

void corpus_free(struct corpus *corpus);

#endif /* JOBS_CORPUS_H */
