/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_print.c - how a pool's figures, and those of all, are printed, for a person and as JSON,
 * with any bytes in its name.
 */
#include "support.h"

#include <cpool/pools.h>
#include <cpool/print.h>

#include <ctype.h>

/* The output of a print function, to be freed. */
static char *printed(enum cpool_dump_form what, const cpool_t *pool)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    REQUIRE(out != NULL);
    cpool_print(pool, what, out);
    REQUIRE_EQUAL(fclose(out), 0);
    REQUIRE(length == strlen(text));
    return text;
}

/* The number that follows. */
static unsigned long long number_after(const char *text, const char *before)
{
    const char *at = strstr(text, before);

    REQUIRE(at != NULL);
    REQUIRE(isdigit((unsigned char)at[strlen(before)]));
    return strtoull(at + strlen(before), NULL, 10);
}

/* A pool with some of its slots everywhere. */
static cpool_t *make_used(const char *name)
{
    cpool_t *pool = support_create_named(name, 24, 1000, 0);
    void *slots[1000];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 300, 0), 300);
    cpool_free_bulk(pool, slots, 200);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 1000, 1000), 0); /* a failure */
    return pool;
}

/* Each figure of cpool_stats_t, and the end of its metric's name. */
#define EACH_FIGURE(FIGURE)                                                             \
    FIGURE(capacity, "") FIGURE(max_capacity, "") FIGURE(live, "") FIGURE(free, "")     \
    FIGURE(circulating, "") FIGURE(peak, "") FIGURE(average, "") FIGURE(retired, "")    \
    FIGURE(slot_size, "") FIGURE(slot_stride, "") FIGURE(reserved_bytes, "")            \
    FIGURE(committed_bytes, "") FIGURE(failures, "_total") FIGURE(stalls, "_total")     \
    FIGURE(waits, "_total") FIGURE(reclaims, "_total") FIGURE(system_calls, "_total")

TEST(print_json_is_one_object_with_all_figures)
{
    cpool_t *pool = make_used("jobs");
    cpool_stats_t stats = CPOOL_STATS_INIT;
    char *json = printed(CPOOL_DUMP_JSON, pool);
    char *metrics = printed(CPOOL_DUMP_PROMETHEUS, pool);
    char before[128];

    REQUIRE_EQUAL(cpool_read_stats(pool, &stats), 0);
    REQUIRE(stats.live == 100 && stats.failures == 1);
    REQUIRE(strncmp(json, "{\"name\":\"jobs\",", 15) == 0);
    REQUIRE(strchr(json, '}') == json + strlen(json) - 2);
    REQUIRE(strchr(json, '\n') == json + strlen(json) - 1);
#define REQUIRE_FIGURE(figure, end)                                                     \
    REQUIRE_EQUAL(number_after(json, "\"" #figure "\":"), stats.figure);                \
    snprintf(before, sizeof(before), "\ncpool_" #figure end                             \
             "{pool=\"jobs\",number=\"%llu\",kind=\"pool\"} ",                          \
             number_after(json, "\"number\":"));                                        \
    REQUIRE_EQUAL(number_after(metrics, before), stats.figure);
    EACH_FIGURE(REQUIRE_FIGURE)
    REQUIRE_EQUAL(number_after(json, "\"in_depot\":") + number_after(json, "\"in_caches\":") +
                      number_after(json, "\"fresh\":"),
                  stats.free);
    free(json);
    free(metrics);
    REQUIRE_EQUAL(support_destroy(pool), 100);
}

static void require_json_name(const char *name, const char *expected)
{
    cpool_t *pool = make_used(name);
    char *json = printed(CPOOL_DUMP_JSON, pool);
    char start[256];

    snprintf(start, sizeof(start), "{\"name\":\"%s\",", expected);
    if (strncmp(json, start, strlen(start)) != 0)
        support_fail(__FILE__, __LINE__, json);
    free(json);
    REQUIRE_EQUAL(support_destroy(pool), 100);
}

/* Characters that a terminal obeys, and those that end a string of JSON, have come neither from
 * a print nor from a report. */
TEST(name_becomes_printable_ascii)
{
    static const char shown[] = "'a?[31m?????\'~?'";
    cpool_t *pool = support_create_named("a\x1b[31m\xc3\xbc\x7f\"\\'~\n", 8, 8, 0);
    char *text = printed(CPOOL_DUMP_TEXT, pool);

    REQUIRE(strstr(text, shown) != NULL);
    for (const char *c = text; *c != '\0'; c++)
        REQUIRE((unsigned char)*c >= 0x20 || *c == '\n');
    free(text);
    support_capture_reports();
    cpool_free(pool, &pool);
    REQUIRE(strstr(REQUIRE_REPORT(CPOOL_EFOREIGN).text, shown) != NULL);
    REQUIRE_EQUAL(cpool_print(pool, (enum cpool_dump_form)(CPOOL_DUMP_PROFILE + 1), stderr), 0);
    REQUIRE_REPORT(CPOOL_EFLAGS);
    REQUIRE_EQUAL(cpool_print(pool, CPOOL_DUMP_LIVE, stderr), 0);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

TEST(create_long_name_is_cut)
{
    require_json_name("", "");
    require_json_name("\"\\\b\x1f\x7f", "?????");
    require_json_name("0123456789012345678901234567890", "0123456789012345678901234567890");
    require_json_name("0123456789012345678901234567\n\"0_", "0123456789012345678901234567??0");
}

TEST(print_names_pool_and_figures)
{
    cpool_t *pool = make_used("jobs");
    char *text = printed(CPOOL_DUMP_TEXT, pool);

    REQUIRE(strstr(text, "jobs") != NULL);
    REQUIRE(strstr(text, "1000") != NULL);
    REQUIRE(strstr(text, "live 100") != NULL);
    REQUIRE(text[strlen(text) - 1] == '\n');
    free(text);
    REQUIRE_EQUAL(support_destroy(pool), 100);
}

/* Each flag that is told, for a person and in JSON, and no other. */
TEST(print_tells_the_flags)
{
    static const struct {
        unsigned flag;
        const char *word, *member;
    } flags[] = {
        { CPOOL_CHECKED, "(checked)", "\"checked\":true" },
        { CPOOL_COLOUR, "(coloured)", "\"coloured\":true" },
        { CPOOL_TRACKED, "(tracked)", "\"tracked\":true" },
    };
    enum { FLAGS = sizeof flags / sizeof flags[0] };

    for (size_t i = 0; i < FLAGS; i++) {
        cpool_config_t config = CPOOL_CONFIG_INIT;
        cpool_t *pool;
        char *text, *json;

        config.slot_size = 64;
        config.capacity = 100;
        support_set_flags(&config, flags[i].flag);
        pool = support_create(&config);
        text = printed(CPOOL_DUMP_TEXT, pool);
        json = printed(CPOOL_DUMP_JSON, pool);
        for (size_t j = 0; j < FLAGS; j++) {
            REQUIRE_EQUAL(strstr(json, flags[j].member) != NULL, i == j);
            REQUIRE_EQUAL(strstr(text, flags[j].word) != NULL, i == j);
        }
        free(text);
        free(json);
        REQUIRE_EQUAL(support_destroy(pool), 0);
    }
}

TEST(print_all_names_every_pool)
{
    cpool_t *first = support_create_named("first", 16, 100, CPOOL_CHECKED | CPOOL_TRACKED);
    cpool_t *second = support_create_named("second", 16, 100, CPOOL_TRACKED);
    char *text = printed(CPOOL_DUMP_TEXT, NULL);
    char *json = printed(CPOOL_DUMP_JSON, NULL);
    char total[100];

    REQUIRE(strstr(text, "pool 'first' (checked, tracked): 100 slots of 16 bytes") != NULL);
    REQUIRE(strstr(text, "pool 'second' (tracked): 100 slots") != NULL);
    snprintf(total, sizeof(total), "2 pools: reserved %zu bytes",
             support_stats(first).reserved_bytes + support_stats(second).reserved_bytes);
    REQUIRE(strstr(text, total) != NULL);
    REQUIRE(strncmp(json, "{\"version\":\"", 12) == 0);
    REQUIRE(strstr(json, "\"pools\":[{\"name\":\"first\",") != NULL);
    REQUIRE(strstr(json, "},{\"name\":\"second\",") != NULL);
    REQUIRE(strstr(json, "\"checked\":true") < strstr(json, "\"checked\":false"));
    REQUIRE(strcmp(json + strlen(json) - 4, "}]}\n") == 0);
    free(text);
    free(json);
    support_destroy_empty(first);
    support_destroy_empty(second);
    json = printed(CPOOL_DUMP_JSON, NULL);
    REQUIRE(strstr(json, "\"pools\":[]}\n") != NULL);
    free(json);
}
