/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c - see text.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "text.h"

/* The class of a byte in the C locale. */
enum {
    BEGINS_ANY = 1 << WORDS_ANY,             /* not white space */
    BEGINS_PRINTABLE = 1 << WORDS_PRINTABLE, /* a graphic character */
    BEGINS = BEGINS_ANY | BEGINS_PRINTABLE,
    NEWLINE = 4,
    NAME = 8, /* letter, digit or underscore */
    DIGIT = 16
};

#define REPEAT_4(x) x, x, x, x
#define REPEAT_16(x) REPEAT_4(x), REPEAT_4(x), REPEAT_4(x), REPEAT_4(x)
#define REPEAT_64(x) REPEAT_16(x), REPEAT_16(x), REPEAT_16(x), REPEAT_16(x)

#define CONTROL BEGINS_ANY
#define LETTER (BEGINS | NAME)
#define NUMERAL (BEGINS | NAME | DIGIT)
#define SPACE 0

static const unsigned char class_of[256] = {
    /* 0x00 */ REPEAT_4(CONTROL), REPEAT_4(CONTROL), CONTROL,
    /* 0x09 */ SPACE, NEWLINE, SPACE, SPACE, SPACE, CONTROL, CONTROL,
    /* 0x10 */ REPEAT_16(CONTROL),
    /* 0x20 */ SPACE, REPEAT_4(BEGINS), REPEAT_4(BEGINS), REPEAT_4(BEGINS), BEGINS, BEGINS, BEGINS,
    /*  0-9 */ REPEAT_4(NUMERAL), REPEAT_4(NUMERAL), NUMERAL, NUMERAL,
    /* 0x3a */ REPEAT_4(BEGINS), BEGINS, BEGINS,
    /*    @ */ BEGINS,
    /*  A-Z */ REPEAT_16(LETTER), REPEAT_4(LETTER), REPEAT_4(LETTER), LETTER, LETTER,
    /* 0x5b */ REPEAT_4(BEGINS),
    /*    _ */ LETTER,
    /* 0x60 */ BEGINS,
    /*  a-z */ REPEAT_16(LETTER), REPEAT_4(LETTER), REPEAT_4(LETTER), LETTER, LETTER,
    /* 0x7b */ REPEAT_4(BEGINS), CONTROL,
    /* 0x80 */ REPEAT_64(CONTROL), REPEAT_64(CONTROL),
};

/* All ones for a byte within a word, zero for white space. */
static unsigned within_word(unsigned class)
{
    return 0u - (class & BEGINS_ANY);
}

/* Sets leading and separated, which describe the text before the first white space. */
static void count_head(struct text_counts *counts, const unsigned char *text, size_t length)
{
    unsigned begins = 0;
    size_t i = 0;

    while (i < length && within_word(class_of[text[i]]))
        begins |= class_of[text[i++]] & BEGINS;
    counts->leading = (uint8_t)begins;
    counts->separated = i < length;
}

void text_count(struct text_counts *counts, const unsigned char *text, size_t length)
{
    uint64_t lines = 0;
    uint64_t any = 0;
    uint64_t printable = 0;
    unsigned in_word = 0; /* a bit per rule */

    for (size_t i = 0; i < length; i++) {
        unsigned class = class_of[text[i]];
        unsigned begun = class & BEGINS & ~in_word;

        lines += (class & NEWLINE) / NEWLINE;
        any += begun & BEGINS_ANY;
        printable += (begun & BEGINS_PRINTABLE) / BEGINS_PRINTABLE;
        in_word = (in_word | begun) & within_word(class);
    }
    counts->lines = lines;
    counts->bytes = length;
    counts->words[WORDS_ANY] = any;
    counts->words[WORDS_PRINTABLE] = printable;
    counts->trailing = (uint8_t)in_word;
    count_head(counts, text, length);
}

void text_join(struct text_counts *left, const struct text_counts *right)
{
    unsigned both = left->trailing & right->leading; /* words that go across */

    text_add(left, right);
    for (int rule = 0; rule < WORDS_RULES; rule++)
        left->words[rule] -= both >> rule & 1u;
    if (!left->separated)
        left->leading |= right->leading;
    if (right->separated)
        left->trailing = right->trailing;
    else
        left->trailing |= right->trailing;
    left->separated = left->separated || right->separated;
}

void text_add(struct text_counts *sum, const struct text_counts *file)
{
    sum->lines += file->lines;
    sum->bytes += file->bytes;
    for (int rule = 0; rule < WORDS_RULES; rule++)
        sum->words[rule] += file->words[rule];
}

bool text_is_name(unsigned char byte)
{
    return (class_of[byte] & NAME) != 0;
}

static void skip_name(struct text_piece *piece)
{
    while (piece->position < piece->length && text_is_name(piece->text[piece->position]))
        piece->position++;
}

void text_piece_init(struct text_piece *piece, const unsigned char *text, size_t length,
                     size_t available, bool continued)
{
    piece->text = text;
    piece->length = length;
    piece->available = available;
    piece->position = 0;
    if (continued)
        skip_name(piece);
}

size_t text_next_identifier(struct text_piece *piece, const unsigned char **identifier)
{
    for (;;) {
        size_t start = piece->position;
        size_t end;

        while (start < piece->length && !text_is_name(piece->text[start]))
            start++;
        if (start == piece->length) {
            piece->position = start;
            return 0;
        }
        end = start + 1;
        while (end < piece->available && text_is_name(piece->text[end]))
            end++;
        piece->position = end < piece->length ? end : piece->length;
        if (!(class_of[piece->text[start]] & DIGIT)) {
            *identifier = &piece->text[start];
            return end - start < IDENTIFIER_LENGTH ? end - start : IDENTIFIER_LENGTH;
        }
    }
}
