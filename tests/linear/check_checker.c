/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_checker.c - tests the checker of histories: with histories written by
 * hand, each right or wrong in one way, and against a search without any cunning
 * on thousands of small ones at random.
 *
 * A history is written as a line of words, each an event: the thread, one digit,
 * and then
 *   a      alloc is called            f3,4   free of slots 3 and 4 is called
 *   b3     bulk alloc of 3
 *   p      alloc that looks past the thread's own cache
 *   o      something else is called
 *   =3,4   it returns slots 3 and 4   =      it returns, with none: NULL, or
 *                                            because there is nothing to return
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "linear.h"

struct sample {
    const char *what;
    size_t capacity, inside;
    const char *events;
    bool right;
};

static const struct sample samples[] = {
    /* One thread at a time. */
    {"nothing", 1, 0, "", true},
    {"take, give, take again", 1, 0, "0a 0=0 0f0 0= 1a 1=0", true},
    {"two slots", 2, 0, "0a 0=1 1a 1=0", true},
    {"dry when all are live", 2, 0, "0a 0=0 0a 0=1 1a 1=", true},
    {"given while held", 2, 0, "0a 0=0 1a 1=0", false},
    {"dry too early", 2, 0, "0a 0=0 1a 1=", false},
    {"dry with nothing live", 1, 0, "0a 0=", false},
    {"dry after a free", 1, 0, "0a 0=0 0f0 0= 0a 0=", false},
    {"a slot that cannot be", 2, 0, "0a 0=2", false},
    {"freed twice", 2, 0, "0a 0=0 0f0 0= 0f0 0=", false},
    {"freed, never taken", 2, 0, "0f1 0=", false},

    /* Overlapping ones, which may take effect in either order. */
    {"taken before its free returned", 1, 0, "0a 0=0 0f0 1a 1=0 0=", true},
    {"taken and freed before its free returned", 1, 0, "0a 0=0 0f0 1a 1=0 1f0 2a 2=0 1= 0=",
     true},
    {"dry before the free took effect", 1, 0, "0a 0=0 0f0 1a 1= 0=", true},
    {"dry and taken during one free", 1, 0, "0a 0=0 0f0 1a 1= 1a 1=0 0=", true},
    {"dry because of an alloc that has not returned", 1, 0, "0a 1a 1= 0=0", true},
    {"taken and dry during one free, so it was taken", 1, 0, "0a 0=0 0f0 1a 1=0 2a 2= 0=",
     true},
    {"one slot to two at once", 2, 0, "0a 1a 0=0 1=0", false},
    {"one free for two takes", 1, 0, "0a 0=0 0f0 1a 2a 1=0 2=0 0=", false},
    {"dry for both of two", 1, 0, "0a 1a 0= 1=", false},
    {"taken before its free was called", 1, 0, "0a 0=0 1a 1=0 0f0 0=", false},
    {"taken, dry, and the free still to come for a third", 1, 0,
     "0a 0=0 0f0 1a 1=0 0= 2a 2=0", false},
    {"dry after the free must have taken effect", 1, 0,
     "0a 0=0 0f0 1a 1=0 1f0 1= 2a 2= 0=", false},
    {"each slot right, dry impossible at one instant", 2, 0,
     "0a 0=0 0a 0=1 1a 0f0 0= 0f1 0= 0a 0=0 2a 2= 0f0 0= 1=", false},
    {"never returned, but must have taken effect", 1, 0, "0a 1a 1=", false},

    /* Bulk. */
    {"bulk takes what there is", 2, 0, "0b3 0=0,1", true},
    {"bulk dry too early", 3, 0, "0b3 0=0,1", false},
    {"bulk takes what is freed meanwhile", 2, 0, "0a 0=0 1b2 0f0 1=0,1 0=", true},
    {"bulk dry before it took the last", 2, 0, "0a 0=0 1b2 0f0 1=0 0=", false},
    {"bulk gives one slot twice", 3, 0, "0b2 0=1,1", false},
    {"bulk free in any order", 2, 0, "0b2 0=0,1 0f0,1 1a 1=1 2a 2=0 0=", true},
    {"bulk free, but only so many", 2, 0, "0b2 0=0,1 0f0,1 1b3 1=0,1 2a 2= 0=", true},

    /* Slots out of reach. */
    {"in the hands of one inside", 3, 2, "0a 0=0 1o 2a 2= 1=", true},
    {"not in the hands of one outside", 3, 2, "0a 0=0 1o 1= 2a 2=", false},
    {"not enough hands", 4, 2, "0a 0=0 1o 2a 2= 1=", false},
    {"what is being freed is in hands", 3, 1, "0b2 0=0,1 0f0,1 1a 1= 0=", true},
    {"not in one's own hands", 2, 1, "0a 0=0 0a 0=", false},
    {"in hands at one instant, not at another", 3, 1,
     "0a 0=0 2a 1o 1= 3o 3= 2=", false},
    {"in the hands of two at one instant", 3, 1, "0a 0=0 2a 1o 3o 1= 3= 2=", true},
};

/* --- By hand --- */

static const char *read_slots(struct operation *operation, const char *text)
{
    while (isdigit((unsigned char)*text)) {
        char *end;

        history_add(operation, strtoul(text, &end, 10));
        text = *end == ',' ? end + 1 : end;
    }
    return text;
}

static const char *read_call(struct history *history, struct operation **pending,
                             unsigned thread, const char *text)
{
    static const char letters[] = "abfo";
    static const enum history_kind kinds[] = {HISTORY_TAKE, HISTORY_TAKE, HISTORY_GIVE,
                                              HISTORY_OTHER};
    const char *letter = strchr(letters, *text);
    enum history_kind kind;
    size_t wanted;

    if (*text == '\0' || letter == NULL)
        abort();
    kind = kinds[letter - letters];
    wanted = kind == HISTORY_TAKE ? 1 : 0;
    if (*text == 'b')
        wanted = (size_t)(*++text - '0');
    pending[thread] = history_begin(history, thread, kind, "call", wanted);
    return *text++ == 'f' ? read_slots(pending[thread], text) : text;
}

static void read_history(struct history *history, const char *text)
{
    struct operation *pending[10] = {NULL};

    history->count = 0;
    while (*text != '\0') {
        unsigned thread = (unsigned)(*text++ - '0');

        if (*text == '=') {
            text = read_slots(pending[thread], text + 1);
            history_end(pending[thread]);
        } else {
            text = read_call(history, pending, thread, text);
        }
        while (*text == ' ')
            text++;
    }
}

static bool check_sample(const struct sample *sample)
{
    static struct history history;
    struct linear_specification specification = {sample->capacity, sample->capacity,
                                                 sample->inside};

    read_history(&history, sample->events);
    if ((linear_check(&specification, &history) == NULL) == sample->right)
        return true;
    printf("%s: %s\n", sample->right ? "refused" : "accepted", sample->what);
    return false;
}

/* --- At random --- */

#define RANDOM_HISTORIES 200000
#define RANDOM_CAPACITY 2
#define RANDOM_THREADS 3
#define RANDOM_EVENTS 14

static uint64_t generator = 1;

/* The result that an operation on a real set would have had, or now and then
 * something else. */
static void take_effect(struct operation *operation, unsigned *live)
{
    unsigned slot = 0;

    if (operation->kind == HISTORY_GIVE) {
        *live &= ~(1u << operation->slots[0]);
        return;
    }
    while ((*live >> slot & 1) != 0)
        slot++;
    if (slot < RANDOM_CAPACITY)
        *live |= 1u << slot;
    if (random_once_in(&generator, 6))
        slot = (unsigned)random_below(&generator, RANDOM_CAPACITY + 1);
    if (slot < RANDOM_CAPACITY)
        history_add(operation, slot);
}

static struct operation *random_call(struct history *history, unsigned thread)
{
    bool gives = random_once_in(&generator, 2);
    struct operation *operation =
        history_begin(history, thread, gives ? HISTORY_GIVE : HISTORY_TAKE,
                      gives ? "free" : "alloc", gives ? 0 : 1);

    if (gives)
        history_add(operation, random_below(&generator, RANDOM_CAPACITY));
    return operation;
}

static void random_history(struct history *history)
{
    struct operation *pending[RANDOM_THREADS] = {NULL};
    bool effective[RANDOM_THREADS] = {false};
    unsigned live = 0;
    unsigned i;

    history->count = 0;
    for (i = 0; i < RANDOM_EVENTS; i++) {
        unsigned t = (unsigned)random_below(&generator, RANDOM_THREADS);

        if (pending[t] == NULL) {
            pending[t] = random_call(history, t);
            effective[t] = false;
        } else if (!effective[t]) {
            take_effect(pending[t], &live);
            effective[t] = true;
        } else {
            history_end(pending[t]);
            pending[t] = NULL;
        }
    }
    for (i = 0; i < RANDOM_THREADS; i++) {
        if (pending[i] != NULL && !effective[i])
            take_effect(pending[i], &live);
        if (pending[i] != NULL)
            history_end(pending[i]);
    }
}

static bool fits(const struct operation *operation, unsigned live)
{
    if (operation->count == 0)
        return live == (1u << RANDOM_CAPACITY) - 1;
    return (live >> operation->slots[0] & 1) == (operation->kind == HISTORY_GIVE);
}

static unsigned after(const struct operation *operation, unsigned live)
{
    return operation->count == 0 ? live : live ^ 1u << operation->slots[0];
}

/*
 * The definition, word by word: some order of all operations, in which none comes
 * after one that was called after its return, and each does what a set does.
 */
static bool has_order(const struct history *history, unsigned done, unsigned live)
{
    size_t i, j;

    if (done == (1u << history->count) - 1)
        return true;
    for (i = 0; i < history->count; i++) {
        const struct operation *next = &history->operations[i];
        bool first = (done >> i & 1) == 0 && fits(next, live);

        for (j = 0; first && j < history->count; j++)
            first = (done >> j & 1) != 0 || history->operations[j].end > next->begin;
        if (first && has_order(history, done | 1u << i, after(next, live)))
            return true;
    }
    return false;
}

static bool check_at_random(void)
{
    static const struct linear_specification specification = {RANDOM_CAPACITY, RANDOM_CAPACITY,
                                                              0};
    static struct history history;
    unsigned right = 0;
    unsigned i;

    for (i = 0; i < RANDOM_HISTORIES; i++) {
        bool expected;

        random_history(&history);
        expected = has_order(&history, 0, 0);
        right += expected;
        if ((linear_check(&specification, &history) == NULL) != expected) {
            printf("%s:\n", expected ? "refused" : "accepted");
            history_print(&history, stdout);
            return false;
        }
    }
    printf("%u small histories at random, %u of them right\n", RANDOM_HISTORIES, right);
    return true;
}

int main(void)
{
    bool good = true;
    size_t i;

    for (i = 0; i < sizeof samples / sizeof samples[0]; i++)
        good = check_sample(&samples[i]) && good;
    printf("%zu histories written by hand\n", i);
    return good && check_at_random() ? 0 : 1;
}
