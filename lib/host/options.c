/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c - the words of CPOOL_OPTIONS.
 */
#include "host/options.h"

#include <string.h>

#include "base/error.h"
#include "host/os.h"
#include "host/sync.h"

/* The characters that separate words. */
#define CPI_OPTIONS_SEPARATORS ", \t\n"

/* A word and its effect: it sets the bits of `value` in its member. */
static const struct word {
    const char *name;
    size_t member; /* its offset in struct cpi_options */
    unsigned value;
} known_words[] = {
    {"checked", offsetof(struct cpi_options, flags), CPOOL_CHECKED},
    {"no_poison", offsetof(struct cpi_options, flags), CPOOL_NO_POISON},
    {"leaks", offsetof(struct cpi_options, leaks), 1},
    {"barrier=no", offsetof(struct cpi_options, no_barrier), 1},
    {"continue", offsetof(struct cpi_options, goes_on), 1},
};

#define CPI_WORDS (sizeof known_words / sizeof known_words[0])

static struct cpi_options of_process;
static cpi_once_t once = CPI_ONCE_INIT;
static bool any_refused;

static bool take_word(struct cpi_options *into, const struct word *word, const char *text,
                      size_t length)
{
    if (length != strlen(word->name) || memcmp(text, word->name, length) != 0)
        return false;
    *(unsigned *)(void *)((char *)into + word->member) |= word->value;
    return true;
}

CPI_COLD void cpi_options_parse(struct cpi_options *into, const char *text,
                                void (*refused)(const char *word, size_t length))
{
    memset(into, 0, sizeof *into);
    for (;;) {
        size_t length;
        size_t i;

        text += strspn(text, CPI_OPTIONS_SEPARATORS);
        length = strcspn(text, CPI_OPTIONS_SEPARATORS);
        if (length == 0)
            return;
        for (i = 0; i < CPI_WORDS && !take_word(into, &known_words[i], text, length); i++)
            ;
        if (i == CPI_WORDS)
            refused(text, length);
        text += length;
    }
}

/* Cuts long words. */
static void name_refused(const char *word, size_t length)
{
    cpi_tell("CPOOL_OPTIONS: '%.*s' is not understood", length < 64 ? (int)length : 64, word);
    any_refused = true;
}

static void name_words(void)
{
    char room[CPI_REPORT_MAX / 2];
    struct cpi_text words;

    cpi_text_init(&words, room, sizeof room);
    for (size_t i = 0; i < CPI_WORDS; i++)
        cpi_text_add(&words, "%s%s", i > 0 ? ", " : "", known_words[i].name);
    cpi_tell("CPOOL_OPTIONS: the words, in lower case and with commas between: %s", room);
}

CPI_COLD static void read_options(void)
{
    const char *text = cpi_os_environment("CPOOL_OPTIONS");

    if (text != NULL)
        cpi_options_parse(&of_process, text, name_refused);
    if (any_refused)
        name_words();
}

const struct cpi_options *cpi_options(void)
{
    cpi_once(&once, read_options);
    return &of_process;
}
