/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.c - a queue with limited room: who finds it full waits for a slot.
 *
 * For programs in which one part is slower than those that give it work.  Programs send pages to a
 * printer.  Each page is a slot, so at most PLACES of them are on their way, and a program that
 * has more sleeps in cpool_alloc_wait.  Out of paper, the printer's operator has the sleeping
 * programs told (cpool_wait_cancel), after which they sleep again.  At night nobody waits: from
 * cpool_wait_close to cpool_wait_open a full queue is an answer.  The operator's thread takes and
 * frees a page a day, too rarely for a cache of its own.
 *
 *     cc -std=c11 spool.c $(pkg-config --cflags --libs cpool) -pthread
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* nanosleep, where -std=c11 hides it */
#endif

#include <cpool.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLACES 8
#define PROGRAMS 3
#define PAGES 100 /* of each program */
#define SHEETS 50 /* in the printer on the first day */

struct page {
    struct page *next;
    int program; /* PROGRAMS: the operator's */
    int number;
};

static cpool_t *pages;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct page *first, **last = &first; /* these under the mutex: the queue */
static int sheets, printed;
static bool in_order = true, is_night, is_over;

static void enqueue(struct page *page)
{
    page->next = NULL;
    pthread_mutex_lock(&mutex);
    *last = page;
    last = &page->next;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* With the mutex. */
static struct page *dequeue(void)
{
    struct page *page = first;

    first = page->next;
    if (first == NULL)
        last = &first;
    return page;
}

/*
 * ---- The programs, and the printer ------------------------------------------
 */

static int sent[PROGRAMS]; /* by a program's thread, from one day to the next */
static bool told[PROGRAMS]; /* under the mutex */

/* Why a program was woken without a slot. */
static bool ask_whether_it_is_night(int self)
{
    bool night;

    pthread_mutex_lock(&mutex);
    night = is_night;
    told[self] = told[self] || !night; /* "out of paper", on the user's screen */
    pthread_mutex_unlock(&mutex);
    return night;
}

static void *send_pages(void *argument)
{
    int self = *(const int *)argument;
    const struct timespec patience = { 60, 0 };

    while (sent[self] < PAGES) {
        struct page *page = cpool_alloc_wait(pages, &patience);

        if (page != NULL) {
            page->program = self;
            page->number = sent[self]++;
            enqueue(page);
        } else if (ask_whether_it_is_night(self)) {
            break; /* the rest tomorrow */
        }
    }
    return NULL;
}

static void *print_pages(void *argument)
{
    int next[PROGRAMS + 1] = { 0 }; /* the least number that is in order */

    (void)argument;
    pthread_mutex_lock(&mutex);
    for (;;) {
        struct page *page;

        while (!is_over && (first == NULL || sheets == 0))
            pthread_cond_wait(&changed, &mutex);
        if (first == NULL || sheets == 0)
            break;
        page = dequeue();
        in_order = in_order && page->number >= next[page->program];
        next[page->program] = page->number + 1;
        printed++;
        if (--sheets == 0)
            pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        cpool_free(pages, page); /* one of the sleeping programs gets it */
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/*
 * ---- The operator -----------------------------------------------------------
 */

static pthread_t threads[PROGRAMS];

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
    if (pthread_create(thread, NULL, function, argument) != 0) {
        fputs("spool: no thread\n", stderr);
        exit(1);
    }
}

static void begin_day(int day, int paper)
{
    static int numbers[PROGRAMS];
    struct page *test = cpool_alloc_uncached(pages);

    if (test != NULL) { /* otherwise yesterday's pages are test enough */
        test->program = PROGRAMS;
        test->number = day;
        enqueue(test);
    }
    pthread_mutex_lock(&mutex);
    sheets = paper;
    is_night = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    cpool_wait_open(pages);
    for (int i = 0; i < PROGRAMS; i++) {
        numbers[i] = i;
        start(&threads[i], send_pages, &numbers[i]);
    }
}

static void end_day(void)
{
    for (int i = 0; i < PROGRAMS; i++)
        pthread_join(threads[i], NULL);
}

/* When the printer stands, all programs sleep sooner or later.  Returns how many were told. */
static int tell_all_programs(void)
{
    const struct timespec moment = { 0, 1000000 };
    int count = 0;

    pthread_mutex_lock(&mutex);
    while (sheets > 0)
        pthread_cond_wait(&changed, &mutex);
    while (count < PROGRAMS) {
        pthread_mutex_unlock(&mutex);
        (void)cpool_wait_cancel(pages);
        nanosleep(&moment, NULL);
        pthread_mutex_lock(&mutex);
        count = told[0] + told[1] + told[2];
    }
    pthread_mutex_unlock(&mutex);
    return count;
}

static void close_for_the_night(void)
{
    pthread_mutex_lock(&mutex);
    is_night = true;
    pthread_mutex_unlock(&mutex);
    (void)cpool_wait_close(pages); /* who sleeps now goes home, and who comes later, too */
}

/* Takes the page out that got stuck. */
static void withdraw_page(void)
{
    struct page *page;

    pthread_mutex_lock(&mutex);
    page = dequeue();
    pthread_mutex_unlock(&mutex);
    cpool_free_uncached(pages, page);
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_stats_t stats = CPOOL_STATS_INIT;
    pthread_t printer;
    int error, count;

    config.name = "pages";
    config.slot_size = sizeof(struct page);
    config.capacity = PLACES;
    error = cpool_create(&pages, &config);
    if (error != 0) {
        fprintf(stderr, "spool: %s\n", cpool_strerror(error));
        return 1;
    }
    start(&printer, print_pages, NULL);
    begin_day(1, SHEETS);
    count = tell_all_programs();
    close_for_the_night();
    end_day();
    if (cpool_read_stats(pages, &stats) != 0)
        return 1;
    printf("first day: %d pages, then no paper, as %d programs were told; %zu pages wait\n",
           printed, count, stats.live);
    withdraw_page();
    begin_day(2, 1000);
    end_day();
    pthread_mutex_lock(&mutex);
    is_over = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(printer, NULL);
    printf("second day: %d pages in all, in order: %s\n", printed, in_order ? "yes" : "no");
    return cpool_destroy(pages) == 0 && in_order ? 0 : 1;
}
