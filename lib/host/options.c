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
#define CPI_OPTIONS_SEPARATORS ", \t\r\n"

/* How many wrong words are named, so that a wrong file does not fill a terminal. */
#define CPI_REFUSED_MAX 8u

/* A word: the member that it sets, in a pool's configuration or in struct cpi_options.  A word
 * without bits ends in '=', and sets a size_t to the number that follows it. */
static const struct word {
    const char *name;
    bool of_pool;
    size_t member; /* its offset */
    unsigned bits; /* added to an unsigned */
} known_words[] = {
#define CPI_FLAG(name, flags_added) {name, true, offsetof(cpool_config_t, flags), flags_added}
#define CPI_NUMBER(member) {#member "=", true, offsetof(cpool_config_t, member), 0}
#define CPI_PROCESS(name, member) {name, false, offsetof(struct cpi_options, member), 1}
    CPI_FLAG("checked", CPOOL_CHECKED),
    CPI_FLAG("no_poison", CPOOL_NO_POISON),
    CPI_FLAG("tracked", CPOOL_TRACKED),
    CPI_FLAG("colour", CPOOL_COLOUR),
    CPI_FLAG("huge_pages", CPOOL_HUGE_PAGES),
    CPI_FLAG("keep_pages", CPOOL_KEEP_PAGES),
    CPI_NUMBER(capacity),
    CPI_NUMBER(max_capacity),
    CPI_NUMBER(magazine_rounds),
    CPI_NUMBER(thread_caches),
    CPI_NUMBER(cache_slots),
    CPI_NUMBER(stall_limit_ms),
    CPI_NUMBER(sample),
    CPI_PROCESS("leaks", leaks),
    CPI_PROCESS("barrier=no", no_barrier),
    CPI_PROCESS("continue", goes_on),
};

#define CPI_WORDS (sizeof known_words / sizeof known_words[0])

static struct cpi_options of_process;
static cpi_once_t once = CPI_ONCE_INIT;
static unsigned refused_words;

/* Moves on to the next word.  Returns its length, or 0 at the end. */
static size_t next_word(const char **text)
{
    *text += strspn(*text, CPI_OPTIONS_SEPARATORS);
    return strcspn(*text, CPI_OPTIONS_SEPARATORS);
}

/* '*' stands for any characters, and '?' for one.  Bit i of `ways` says that the pattern up to here
 * can stand for the first i characters of the name, which has fewer than 63. */
static bool name_matches(const char *name, const char *pattern, const char *end)
{
    size_t length = strlen(name);
    uint64_t ways = 1;

    for (; pattern < end; pattern++) {
        uint64_t before = ways;

        ways = 0;
        for (size_t i = 0; i <= length; i++)
            if ((before >> i & 1) != 0 && *pattern == '*')
                ways |= UINT64_MAX << i;
            else if ((before >> i & 1) != 0 && (*pattern == '?' || *pattern == name[i]))
                ways |= (uint64_t)1 << (i + 1);
    }
    return (ways >> length & 1) != 0;
}

/* Returns false if the text is another word, or its number is wrong. */
static bool set_member(void *into, const struct word *word, const char *text, size_t length)
{
    void *member = (char *)into + word->member;
    size_t name = strlen(word->name);
    size_t number = 0;

    if (length < name || memcmp(text, word->name, name) != 0)
        return false;
    for (size_t i = name; i < length; i++) {
        if (word->bits != 0 || text[i] < '0' || text[i] > '9' || number > SIZE_MAX / 10 - 1)
            return false;
        number = number * 10 + (size_t)(text[i] - '0');
    }
    if (word->bits != 0)
        *(unsigned *)member |= word->bits;
    else if (length > name)
        *(size_t *)member = number;
    return word->bits != 0 || length > name;
}

CPI_COLD unsigned cpi_options_read(const char *text, struct cpi_options *process, const char *pool,
                                   cpool_config_t *config,
                                   void (*refused)(const char *word, size_t length))
{
    unsigned taken = 0;
    size_t length;

    for (; (length = next_word(&text)) > 0; text += length) {
        const struct word *word = known_words;
        size_t pattern = length; /* with its colon, or 0 */

        /* Names may have colons, settings have none, so the last one counts. */
        while (pattern > 0 && text[pattern - 1] != ':')
            pattern--;
        if (pool != NULL && pattern > 0 && !name_matches(pool, text, text + pattern - 1))
            continue;
        for (; word < known_words + CPI_WORDS; word++) {
            size_t at = word->of_pool ? pattern : 0;

            if (set_member(word->of_pool ? (void *)config : process, word, text + at, length - at))
                break;
        }
        if (word < known_words + CPI_WORDS)
            taken += word->of_pool;
        else if (pool == NULL)
            refused(text, length);
    }
    return taken;
}

/* --- The text --- */

static void name_refused(const char *word, size_t length)
{
    char shown[64];

    cpi_text_copy(shown, length < sizeof shown ? length + 1 : sizeof shown, word);
    if (refused_words++ < CPI_REFUSED_MAX)
        cpi_tell("CPOOL_OPTIONS: '%s' is not understood", shown);
}

static void name_words(void)
{
    char room[CPI_REPORT_MAX / 2];
    struct cpi_text words;

    cpi_text_init(&words, room, sizeof room);
    for (size_t i = 0; i < CPI_WORDS; i++)
        cpi_text_add(&words, "%s%s, ", known_words[i].name, known_words[i].bits == 0 ? "N" : "");
    cpi_tell("CPOOL_OPTIONS: the words, in lower case and with commas between: %s@FILE.  Down to "
             "sample also as NAME:WORD, for pools whose names match (* and ?)", room);
}

/* Appends a word, or in place of @FILE the text of that file, all of it or nothing.  Comments of a
 * file become blanks, and so do zero bytes, which would end the text. */
CPI_COLD static void append_word(struct cpi_text *into, const char *word, size_t length)
{
    char *start = into->start + into->length;
    size_t room = into->size - into->length - 2; /* a comma and a zero byte follow */
    size_t added = length;
    bool in_comment = false;

    if (length < room) {
        memcpy(start, word, length);
        start[length] = '\0';
        if (word[0] == '@')
            added = cpi_os_read_file(start + 1, start, room);
    }
    if (added >= room) {
        cpi_tell("CPOOL_OPTIONS: '%.*s' is ignored, because it %s", (int)length, word,
                 added == SIZE_MAX ? "cannot be read" : "makes more than 64 KiB");
        *start = '\0'; /* the beginning of a long file lies there */
        return;
    }
    for (size_t i = 0; word[0] == '@' && i < added; i++) {
        in_comment = start[i] == '#' || (in_comment && start[i] != '\n');
        if (in_comment || start[i] == '\0')
            start[i] = ' ';
    }
    into->length += added;
    cpi_text_add(into, ",");
}

CPI_COLD static void read_options(void)
{
    const char *text = cpi_os_environment("CPOOL_OPTIONS");
    char *copy = text != NULL ? cpi_os_map(CPI_OPTIONS_MAX) : NULL;
    cpool_config_t any_pool = CPOOL_CONFIG_INIT;
    struct cpi_text words;
    size_t length;

    if (copy == NULL) /* without memory for this there is none for pools, either */
        return;
    /* Copies the words, because a program may change its environment. */
    cpi_text_init(&words, copy, CPI_OPTIONS_MAX);
    for (; (length = next_word(&text)) > 0; text += length)
        append_word(&words, text, length);
    of_process.text = copy;
    of_process.pools = cpi_options_read(copy, &of_process, NULL, &any_pool, name_refused);
    if (refused_words > 0)
        name_words();
}

const struct cpi_options *cpi_options(void)
{
    cpi_once(&once, read_options);
    return &of_process;
}

CPI_COLD void cpi_options_release(void)
{
    if (of_process.text != NULL)
        cpi_os_release((void *)(uintptr_t)of_process.text, CPI_OPTIONS_MAX);
}
