/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_info.c - questions: which address is a slot, what the figures are, how
 * they are printed, and what the codes mean.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * ---- Addresses -----------------------------------------------------------
 */

/* The strides are those of slots of 1 to 40 bytes. */
START_TEST(index_and_at_are_inverse)
{
    int stride = _i + 1;
    cpool_t *pool = support_create_plain((size_t)stride, 1000);
    size_t limit = cpool_index_limit(pool);

    REQUIRE(limit >= 1000);
    for (size_t i = 0; i < limit; i += i < 1000 || i + 100 > limit ? 1 : 97) {
        char *slot = cpool_at(pool, i);

        REQUIRE(slot != NULL);
        REQUIRE(cpool_owns(pool, slot));
        REQUIRE_EQUAL(cpool_index(pool, slot), i);
        REQUIRE(stride == 1 || !cpool_owns(pool, slot + 1));
        REQUIRE(stride == 1 || cpool_index(pool, slot + stride - 1) == SIZE_MAX);
    }
    REQUIRE(cpool_at(pool, limit) == NULL);
    REQUIRE(cpool_at(pool, SIZE_MAX) == NULL);
    REQUIRE(!cpool_owns(pool, (char *)cpool_at(pool, limit - 1) + stride));
    REQUIRE(!cpool_owns(pool, (char *)cpool_at(pool, 0) - stride));
    REQUIRE(!cpool_owns(pool, NULL));
    REQUIRE(cpool_index(pool, NULL) == SIZE_MAX);
    /* Asking uses nothing. */
    REQUIRE_EQUAL(support_stats(pool).fresh, 1000);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(index_limit_of_exact_and_callers_pools_is_the_capacity)
{
    static _Alignas(64) char memory[64 * 1024];
    cpool_config_t config = support_config(16, 100);
    cpool_t *pool;

    config.flags = CPOOL_EXACT;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_index_limit(pool), 100);
    support_destroy_empty(pool);
    config.max_capacity = 300;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_index_limit(pool), 300);
    support_destroy_empty(pool);
    config.flags = 0;
    config.memory = memory;
    config.memory_size = sizeof(memory);
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_index_limit(pool), 300);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(owns_tells_pools_apart)
{
    cpool_t *a = support_create_plain(32, 10);
    cpool_t *b = support_create_plain(32, 10);

    for (size_t i = 0; i < 10; i++) {
        REQUIRE(!cpool_owns(a, cpool_at(b, i)));
        REQUIRE(!cpool_owns(b, cpool_at(a, i)));
    }
    support_destroy_empty(a);
    support_destroy_empty(b);
}
END_TEST

/*
 * ---- Figures -------------------------------------------------------------
 */

START_TEST(stats_wrong_arguments_refused)
{
    cpool_t *pool = support_create_plain(32, 10);
    cpool_stats_t stats = CPOOL_STATS_INIT;
    static const size_t sizes[] = { 0, 1, sizeof(cpool_stats_t) - 1, sizeof(cpool_stats_t) + 8,
                                    SIZE_MAX };

    REQUIRE_EQUAL(cpool_stats(NULL, &stats), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_stats(pool, NULL), CPOOL_ENULL);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        stats.size = sizes[i];
        stats.live = 4711;
        REQUIRE_EQUAL(cpool_stats(pool, &stats), CPOOL_ESTRUCT);
        REQUIRE_EQUAL(stats.live, 4711);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(stats_of_new_pool_show_all_fresh)
{
    cpool_t *pool = support_create_plain(32, 10);
    cpool_stats_t stats = support_stats(pool);

    REQUIRE_EQUAL(stats.size, sizeof(cpool_stats_t));
    REQUIRE_EQUAL(stats.capacity, 10);
    REQUIRE_EQUAL(stats.fresh, 10);
    REQUIRE_EQUAL(stats.live + stats.in_depot + stats.in_caches + stats.high_water, 0);
    REQUIRE_EQUAL(stats.slot_size, 32);
    REQUIRE_EQUAL(stats.slot_stride, 32);
    REQUIRE(stats.magazine_rounds >= 1);
    REQUIRE_EQUAL(stats.magazines, 0);
    REQUIRE_EQUAL(stats.thread_caches, 0);
    REQUIRE_EQUAL(stats.exchanges, 0);
    REQUIRE_EQUAL(stats.cas_retries, 0);
    REQUIRE_EQUAL(stats.max_capacity, 10);
    REQUIRE_EQUAL(stats.slack, 0);
    REQUIRE_EQUAL(stats.recalls + stats.growths + stats.trims + stats.waits, 0);
    REQUIRE(stats.reserved_bytes >= 320);
    REQUIRE(stats.committed_bytes <= stats.reserved_bytes);
    support_destroy_empty(pool);
}
END_TEST

/* After each of many steps the figures agree with what the test knows. */
START_TEST(stats_after_every_step_are_exact)
{
    cpool_t *pool = support_create_plain(8, 500);
    void *held[500];
    size_t live = 0;
    size_t most = 0;
    uint64_t state = 123456789u;

    for (size_t step = 0; step < SUPPORT_COUNT(20000, 3000); step++) {
        uint64_t random = support_random(&state);

        if (random % 2 == 0 && live < 500) {
            held[live] = random % 3 == 0 ? cpool_depot_alloc(pool) : cpool_alloc(pool);
            live += held[live] != NULL;
        } else if (live > 0) {
            if (random % 3 == 0)
                cpool_depot_free(pool, held[--live]);
            else
                cpool_free(pool, held[--live]);
        }
        if (random % 97 == 0)
            cpool_flush(pool);
        most = live > most ? live : most;
        support_require_live(pool, live);
        REQUIRE(support_stats(pool).high_water >= most);
    }
    REQUIRE_EQUAL(cpool_destroy(pool), live);
}
END_TEST

START_TEST(stats_count_exchanges_with_the_depot)
{
    cpool_t *pool = support_create_plain(8, 10000);
    size_t rounds = support_stats(pool).magazine_rounds;
    void *slots[10000];
    cpool_stats_t stats;

    REQUIRE_EQUAL(support_take_all(pool, slots), 10000);
    cpool_free_bulk(pool, slots, 10000);
    stats = support_stats(pool);
    /* Nearly all full magazines went to the depot, and none was in the way. */
    REQUIRE(stats.exchanges >= 10000 / rounds - 4);
    REQUIRE_EQUAL(stats.cas_retries, 0);
    REQUIRE(stats.magazines >= 10000 / rounds);
    REQUIRE_EQUAL(stats.thread_caches, 1);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Printing ------------------------------------------------------------
 */

/* What a print function writes, to be freed. */
static char *printed(void (*print)(const cpool_t *, FILE *), const cpool_t *pool)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    REQUIRE(out != NULL);
    print(pool, out);
    REQUIRE_EQUAL(fclose(out), 0);
    REQUIRE(length == strlen(text));
    return text;
}

/* A small reader of JSON: steps over one value, or returns NULL if it is none. */
static const char *skip_value(const char *json);

static const char *skip_string(const char *json)
{
    if (*json++ != '"')
        return NULL;
    for (; *json != '"'; json++) {
        if ((unsigned char)*json < 0x20)
            return NULL;
        if (*json == '\\' && strchr("\"\\/bfnrtu", *++json) == NULL)
            return NULL;
    }
    return json + 1;
}

static const char *skip_object(const char *json)
{
    if (*json++ != '{')
        return NULL;
    for (;;) {
        json = skip_string(json);
        if (json == NULL || *json != ':')
            return NULL;
        json = skip_value(json + 1);
        if (json == NULL)
            return NULL;
        if (*json == '}')
            return json + 1;
        if (*json++ != ',')
            return NULL;
    }
}

static const char *skip_value(const char *json)
{
    static const char *const words[] = { "true", "false", "null" };

    if (*json == '{')
        return skip_object(json);
    if (*json == '"')
        return skip_string(json);
    for (size_t i = 0; i < 3; i++)
        if (strncmp(json, words[i], strlen(words[i])) == 0)
            return json + strlen(words[i]);
    if (!isdigit((unsigned char)*json))
        return NULL;
    while (isdigit((unsigned char)*json))
        json++;
    return json;
}

/* The number that a member has. */
static unsigned long long member(const char *json, const char *name)
{
    char key[64];
    const char *at;

    snprintf(key, sizeof(key), "\"%s\":", name);
    at = strstr(json, key);
    REQUIRE(at != NULL);
    REQUIRE(isdigit((unsigned char)at[strlen(key)]));
    return strtoull(at + strlen(key), NULL, 10);
}

/* A pool with some of its slots everywhere. */
static cpool_t *make_used(const char *name)
{
    cpool_config_t config = support_config(24, 1000);
    void *slots[300];
    cpool_t *pool;

    config.name = name;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, 300), 0);
    cpool_free_bulk(pool, slots, 200);
    return pool;
}

START_TEST(print_json_is_one_object_with_all_figures)
{
    cpool_t *pool = make_used("jobs");
    cpool_stats_t stats = support_stats(pool);
    char *json = printed(cpool_print_json, pool);
    const char *end = skip_object(json);

    REQUIRE(end != NULL);
    REQUIRE(strcmp(end, "\n") == 0);
    REQUIRE(strstr(json, "\"name\":\"jobs\"") != NULL);
    REQUIRE_EQUAL(member(json, "capacity"), stats.capacity);
    REQUIRE_EQUAL(member(json, "max_capacity"), stats.max_capacity);
    REQUIRE_EQUAL(member(json, "slack"), stats.slack);
    REQUIRE_EQUAL(member(json, "live"), stats.live);
    REQUIRE_EQUAL(member(json, "in_depot"), stats.in_depot);
    REQUIRE_EQUAL(member(json, "in_caches"), stats.in_caches);
    REQUIRE_EQUAL(member(json, "fresh"), stats.fresh);
    REQUIRE_EQUAL(member(json, "high_water"), stats.high_water);
    REQUIRE_EQUAL(member(json, "slot_size"), stats.slot_size);
    REQUIRE_EQUAL(member(json, "slot_stride"), stats.slot_stride);
    REQUIRE_EQUAL(member(json, "magazine_rounds"), stats.magazine_rounds);
    REQUIRE_EQUAL(member(json, "magazines"), stats.magazines);
    REQUIRE_EQUAL(member(json, "thread_caches"), stats.thread_caches);
    REQUIRE_EQUAL(member(json, "exchanges"), stats.exchanges);
    REQUIRE_EQUAL(member(json, "cas_retries"), stats.cas_retries);
    REQUIRE_EQUAL(member(json, "recalls"), stats.recalls);
    REQUIRE_EQUAL(member(json, "growths"), stats.growths);
    REQUIRE_EQUAL(member(json, "trims"), stats.trims);
    REQUIRE_EQUAL(member(json, "waits"), stats.waits);
    REQUIRE_EQUAL(member(json, "spares"), stats.spares);
    REQUIRE_EQUAL(member(json, "reserved_bytes"), stats.reserved_bytes);
    REQUIRE_EQUAL(member(json, "committed_bytes"), stats.committed_bytes);
    free(json);
    REQUIRE_EQUAL(cpool_destroy(pool), 100);
}
END_TEST

START_TEST(print_json_of_any_name_is_valid)
{
    static const char *const names[] = {
        "", "\"", "\\", "\"\\\"", "line\nbreak\ttab\r", "\x01\x1f\x7f", "{\"a\":1}",
        "1234567890123456789012345678901234567890", "123456789012345678901234567890\"more",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cpool_t *pool = make_used(names[i]);
        char *json = printed(cpool_print_json, pool);
        const char *end = skip_object(json);

        REQUIRE(end != NULL && strcmp(end, "\n") == 0);
        REQUIRE(strchr(json, '\n') == end);
        free(json);
        REQUIRE_EQUAL(cpool_destroy(pool), 100);
    }
}
END_TEST

static void require_json_name(const char *name, const char *expected)
{
    cpool_t *pool = make_used(name);
    char *json = printed(cpool_print_json, pool);
    char start[256];

    snprintf(start, sizeof(start), "{\"name\":\"%s\",", expected);
    if (strncmp(json, start, strlen(start)) != 0)
        support_fail(__FILE__, __LINE__, json);
    free(json);
    REQUIRE_EQUAL(cpool_destroy(pool), 100);
}

START_TEST(print_json_of_name_is_utf8)
{
    static const struct {
        const char *name;
        const char *expected;
    } cases[] = {
        /* Characters of each length, the first and the last of it. */
        { "\x7f\xc2\x80\xdf\xbf", "\x7f\xc2\x80\xdf\xbf" },
        { "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
          "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf" },
        { "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf" },
        /* Bytes that begin nothing, at the start, within, and at the end. */
        { "\x80" "a\xff" "b\xc3", "\\ufffda\\ufffdb\\ufffd" },
        { "\xe2\x82" "a", "\\ufffd\\ufffda" },
        { "\xf0\x9f\x98\"", "\\ufffd\\ufffd\\ufffd\\\"" },
        /* Overlong, a surrogate, beyond the last one. */
        { "\xc1\xbf", "\\ufffd\\ufffd" },
        { "\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd" },
        { "\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd" },
        { "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd" },
        { "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        require_json_name(cases[i].name, cases[i].expected);
}
END_TEST

/* Of a character that lies across the 31st byte nothing is kept, and of a name
 * that is no UTF-8 all of the 31. */
START_TEST(create_long_name_is_cut_between_characters)
{
#define BYTES_28 "0123456789012345678901234567"

    require_json_name(BYTES_28 "ab\xc3\xa4z", BYTES_28 "ab");
    require_json_name(BYTES_28 "a\xc3\xa4z", BYTES_28 "a\xc3\xa4");
    require_json_name(BYTES_28 "ab\xe2\x82\xac", BYTES_28 "ab");
    require_json_name(BYTES_28 "a\xe2\x82\xac", BYTES_28 "a");
    require_json_name(BYTES_28 "\xe2\x82\xac", BYTES_28 "\xe2\x82\xac");
    require_json_name(BYTES_28 "ab\xf0\x9f\x98\x80", BYTES_28 "ab");
    require_json_name(BYTES_28 "\xf0\x9f\x98\x80", BYTES_28);
    require_json_name(BYTES_28 "\x80\x80\x80\x80\x80", BYTES_28 "\\ufffd\\ufffd\\ufffd");
}
END_TEST

START_TEST(print_names_pool_and_figures)
{
    cpool_t *pool = make_used("jobs");
    char *text = printed(cpool_print, pool);

    REQUIRE(strstr(text, "jobs") != NULL);
    REQUIRE(strstr(text, "1000") != NULL);
    REQUIRE(strstr(text, "live 100") != NULL);
    REQUIRE(text[strlen(text) - 1] == '\n');
    free(text);
    REQUIRE_EQUAL(cpool_destroy(pool), 100);
}
END_TEST

START_TEST(create_long_name_keeps_31_bytes)
{
    cpool_t *pool = make_used("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ");
    struct support_report report;

    support_capture_reports();
    cpool_free(pool, pool);
    report = REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE(strcmp(report.name, "abcdefghijklmnopqrstuvwxyzABCDE") == 0);
    REQUIRE_EQUAL(cpool_destroy(pool), 100);
}
END_TEST

START_TEST(create_without_name_reports_empty_name)
{
    cpool_t *pool = make_used(NULL);

    support_capture_reports();
    cpool_free(pool, pool);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EFOREIGN).name, "") == 0);
    REQUIRE_EQUAL(cpool_destroy(pool), 100);
}
END_TEST

/*
 * ---- Codes ---------------------------------------------------------------
 */

START_TEST(strerror_of_every_code_is_distinct)
{
    for (int a = CPOOL_ENOTQUIET; a <= CPOOL_OK; a++) {
        const char *text = cpool_strerror(a);

        REQUIRE(text != NULL && text[0] != '\0');
        REQUIRE(strchr(text, '\n') == NULL);
        for (int b = CPOOL_ENOTQUIET; b < a; b++)
            REQUIRE(strcmp(cpool_strerror(b), text) != 0);
        REQUIRE(strcmp(cpool_strerror(CPOOL_ENOTQUIET - 1), text) != 0);
    }
}
END_TEST

START_TEST(strerror_of_unknown_code_is_text)
{
    static const int codes[] = { 1, 1000, CPOOL_ENOTQUIET - 1, -1000, INT32_MAX, INT32_MIN };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        const char *text = cpool_strerror(codes[i]);

        REQUIRE(text != NULL && text[0] != '\0');
        REQUIRE(strcmp(text, cpool_strerror(CPOOL_OK)) != 0);
    }
}
END_TEST

/* What works leaves errno alone, and so does what fails. */
START_TEST(use_leaves_errno_alone)
{
    cpool_config_t config = support_config(1 << 20, CPOOL_CAPACITY_MAX);
    cpool_t *pool;
    void *slots[100];

    errno = 4711;
    REQUIRE(cpool_create(&pool, &config) != 0);
    REQUIRE_EQUAL(errno, 4711);
    config = support_config(24, 100);
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    REQUIRE_EQUAL(support_take_all(pool, slots), 100);
    cpool_free_bulk(pool, slots, 100);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    REQUIRE_EQUAL(errno, 4711);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(index_and_at_are_inverse, 40),
        ONCE(index_limit_of_exact_and_callers_pools_is_the_capacity),
        ONCE(owns_tells_pools_apart),
        ONCE(stats_wrong_arguments_refused),
        ONCE(stats_of_new_pool_show_all_fresh),
        ONCE(stats_after_every_step_are_exact),
        ONCE(stats_count_exchanges_with_the_depot),
        ONCE(print_json_is_one_object_with_all_figures),
        ONCE(print_json_of_any_name_is_valid),
        ONCE(print_json_of_name_is_utf8),
        ONCE(create_long_name_is_cut_between_characters),
        ONCE(print_names_pool_and_figures),
        ONCE(create_long_name_keeps_31_bytes),
        ONCE(create_without_name_reports_empty_name),
        ONCE(strerror_of_every_code_is_distinct),
        ONCE(strerror_of_unknown_code_is_text),
        ONCE(use_leaves_errno_alone),
    };

    return SUPPORT_RUN("info", tests);
}
