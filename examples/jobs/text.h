/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - lines, words, bytes and identifiers of a piece of a file.
 *
 * A file may be cut into pieces anywhere, and the pieces be counted in any
 * order by anybody: the counts of neighbours are then joined, and give exactly
 * what the whole gives.  Bytes are classed as in the C locale.
 *
 * Words.  GNU wc has changed its definition of a word, so two rules are kept:
 *
 *   WORDS_ANY         any byte but white space is part of a word: POSIX, the
 *                     BSDs, and GNU coreutils from 9.5 on
 *   WORDS_PRINTABLE   bytes that do not print neither begin nor end a word, so
 *                     that a run without white space counts only if it has one
 *                     that prints: GNU coreutils before that
 *
 * Both are one automaton: some bytes begin a word if none has begun, white
 * space ends it, the rest leave things as they are.  To join two pieces it is
 * enough to know of each whether a word begins before its first white space
 * (`leading`) and whether one is open at its end (`trailing`):
 *
 *       ... an iden|tifier ...        2 + 2 - 1 words: trailing and leading
 *
 * Identifiers are the longest runs of letters, digits and underscores, if they
 * do not start with a digit.  One belongs to the piece in which it starts.
 *
 * Includes <stdint.h> and the like only.
 */
#ifndef JOBS_TEXT_H
#define JOBS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of an identifier that count: longer ones that agree in these are taken
 * for the same.  (C itself asks for 63: C11 5.2.4.1.)  It bounds what a piece
 * must know of the text after it. */
#define IDENTIFIER_LENGTH 71

enum text_rule { WORDS_ANY, WORDS_PRINTABLE, WORDS_RULES };

struct text_counts {
    uint64_t lines;
    uint64_t bytes;
    uint64_t words[WORDS_RULES];
    uint8_t leading;  /* a bit per rule: a word begins before the first white space */
    uint8_t trailing; /* a bit per rule: a word is open at the end */
    bool separated;   /* there is white space in it */
};

/* Counts a piece of `length` bytes. */
void text_count(struct text_counts *counts, const unsigned char *text, size_t length);

/* Appends the piece `right` to what comes directly before it. */
void text_join(struct text_counts *left, const struct text_counts *right);

/* Adds another, separate file's counts. */
void text_add(struct text_counts *sum, const struct text_counts *file);

/* The text in which identifiers are looked for. */
struct text_piece {
    const unsigned char *text;
    size_t length;    /* bytes of the piece: identifiers must start in them */
    size_t available; /* bytes that can be read: length, and up to
                         IDENTIFIER_LENGTH more when the file goes on */
    size_t position;  /* where to look next; 0, or see text_piece_init */
};

/*
 * Begins to look for identifiers.  `continued`: the byte before the piece is
 * part of an identifier or number, which therefore started elsewhere.
 */
void text_piece_init(struct text_piece *piece, const unsigned char *text, size_t length,
                     size_t available, bool continued);

/*
 * The next identifier's length, at most IDENTIFIER_LENGTH, and its start in
 * *identifier.  Returns 0 when there is no more.
 */
size_t text_next_identifier(struct text_piece *piece, const unsigned char **identifier);

/* Returns true if a byte can be part of an identifier. */
bool text_is_name(unsigned char byte);

#endif /* JOBS_TEXT_H */
