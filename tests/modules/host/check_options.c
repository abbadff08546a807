/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_options.c - CPOOL_OPTIONS: its words (lib/host/options.h), the files that it names, and
 * what it changes in pools.  (The checks in a program that knows nothing of it, and programs with
 * more rights than their user: check-mistakes.sh.)
 */
#include "support.h"

#include <cpool/client.h>

#include "host/options.h"
#include "pool/pool.h"

static char refused[256];

static void note_refused(const char *word, size_t length)
{
    size_t used = strlen(refused);

    REQUIRE(used + length + 2 < sizeof(refused));
    memcpy(refused + used, word, length);
    strcpy(refused + used + length, ";");
}

static cpool_config_t changed; /* by the words for pools */

/* What the text says of the process, and of a pool with this name, or of any. */
static struct cpi_options read_for(const char *text, const char *pool)
{
    struct cpi_options options = { .pools = 0 };

    refused[0] = '\0';
    changed = (cpool_config_t)CPOOL_CONFIG_INIT;
    options.pools = cpi_options_read(text, &options, pool, &changed, note_refused);
    return options;
}

static struct cpi_options parse(const char *text)
{
    return read_for(text, NULL);
}

TEST(read_adds_what_each_word_says)
{
    struct cpi_options options = parse("tracked,no_poison\tcontinue\r\n colour,,keep_pages");

    REQUIRE_EQUAL(changed.flags,
                  CPOOL_TRACKED | CPOOL_NO_POISON | CPOOL_COLOUR | CPOOL_KEEP_PAGES);
    REQUIRE(options.pools == 4 && options.leaks == 0 && options.goes_on == 1 && refused[0] == '\0');
    options = parse("checked huge_pages");
    REQUIRE_EQUAL(changed.flags, CPOOL_CHECKED | CPOOL_HUGE_PAGES);
    options = parse("");
    REQUIRE(options.pools == 0 && changed.flags == 0 && refused[0] == '\0');
}

TEST(read_of_no_barrier_says_no_more_than_that)
{
    struct cpi_options options = parse("barrier=no");

    REQUIRE(options.no_barrier == 1 && refused[0] == '\0');
    REQUIRE(options.pools == 0 && changed.flags == 0 && options.leaks == 0);
    options = parse("leaks,barrier=no,checked");
    REQUIRE(options.no_barrier == 1 && options.leaks == 1 && refused[0] == '\0');
    options = parse("barrier,barrier=,barrier=yes,barrier=now,no");
    REQUIRE_EQUAL(options.no_barrier, 0);
    REQUIRE(strcmp(refused, "barrier;barrier=;barrier=yes;barrier=now;no;") == 0);
}

/* Neither a beginning of a word nor a longer one, nor a number where there is none. */
TEST(read_names_what_it_does_not_understand)
{
    struct cpi_options options = parse("chec,checkedd,CHECKED,checked=1,=,=1,x,checked=,leaks");

    REQUIRE_EQUAL(changed.flags, 0);
    REQUIRE_EQUAL(options.leaks, 1);
    REQUIRE(strcmp(refused, "chec;checkedd;CHECKED;checked=1;=;=1;x;checked=;") == 0);
}

TEST(read_sets_each_number)
{
    REQUIRE_EQUAL(parse("capacity=1,max_capacity=2,magazine_rounds=3,thread_caches=4,"
                        "cache_slots=5,stall_limit_ms=60,capacity=0010,cache_slots=0").pools, 8);
    REQUIRE(changed.capacity == 10 && changed.max_capacity == 2 && changed.magazine_rounds == 3);
    REQUIRE(changed.thread_caches == 4 && changed.cache_slots == 0 && changed.stall_limit_ms == 60);
    REQUIRE(changed.flags == 0 && refused[0] == '\0');
}

TEST(read_refuses_what_is_no_number)
{
    static const char wrong[] = "capacity;capacity=;capacity=x;capacity=1x;capacity=-1;"
                                "capacity=+1;capacity=0x1;capacity=1.5;capacity=1=2;"
                                "capacity=18446744073709551616;capacity=99999999999999999999999;";
    char text[sizeof(wrong)];

    for (size_t i = 0; i < sizeof(wrong); i++)
        text[i] = wrong[i] == ';' ? ',' : wrong[i];
    REQUIRE_EQUAL(parse(text).pools, 0);
    REQUIRE_EQUAL(changed.capacity, 0);
    REQUIRE(strcmp(refused, wrong) == 0);
}

/* Words for the process are for no pool. */
TEST(read_refuses_a_name_before_a_word_for_the_process)
{
    struct cpi_options options =
        parse("a:leaks,*:barrier=no,:continue,a:,:,a:b:,a:@b,a:checkd,a:b");

    REQUIRE(options.leaks == 0 && options.no_barrier == 0 && options.goes_on == 0);
    REQUIRE_EQUAL(options.pools, 0);
    REQUIRE(strcmp(refused, "a:leaks;*:barrier=no;:continue;a:;:;a:b:;a:@b;a:checkd;a:b;") == 0);
}

static bool changes(const char *text, const char *pool)
{
    unsigned pools = read_for(text, pool).pools;

    REQUIRE(refused[0] == '\0'); /* once for the process is enough */
    REQUIRE((pools > 0) == ((changed.flags & CPOOL_CHECKED) != 0));
    return pools > 0;
}

TEST(read_changes_pools_whose_names_match)
{
    REQUIRE(changes("checked", "jobs") && changes("checked", "") && changes("*:checked", ""));
    REQUIRE(changes("jobs:checked", "jobs") && !changes("jobs:checked", "job"));
    REQUIRE(!changes("jobs:checked", "jobss") && !changes("jobs:checked", "Jobs"));
    REQUIRE(!changes("jobs:checked", "") && changes(":checked", "") && !changes(":checked", "a"));
    REQUIRE(changes("a:checkd,b:checked", "b") && !changes("a:checked,b:checkd", "b"));
    REQUIRE(changes("net::conn:checked", "net::conn") && changes("net*:checked", "net::conn"));
    REQUIRE(changes("64?small:checked", "64 small") && changes("?*:checked", "a,b"));
}

/* Of two numbers for one pool the last one wins, and words for other pools do not count. */
TEST(read_of_several_words_for_one_pool_adds_them_up)
{
    const char *text = "capacity=1,jobs:capacity=2,jo*:tracked,other:capacity=3,j*:cache_slots=4";

    REQUIRE_EQUAL(read_for(text, "jobs").pools, 4);
    REQUIRE(changed.capacity == 2 && changed.flags == CPOOL_TRACKED && changed.cache_slots == 4);
    REQUIRE_EQUAL(read_for(text, "other").pools, 2);
    REQUIRE(changed.capacity == 3 && changed.flags == 0 && changed.cache_slots == 0);
    REQUIRE_EQUAL(read_for(text, "none").pools, 1);
    REQUIRE_EQUAL(changed.capacity, 1);
    REQUIRE_EQUAL(read_for("jobs:capacity=2,capacity=1", "jobs").pools, 2);
    REQUIRE_EQUAL(changed.capacity, 1);
}

/* Tries each way in which the stars may share the name. */
static bool matches_slowly(const char *name, const char *pattern)
{
    if (*pattern == ':')
        return *name == '\0';
    if (*pattern == '*' && matches_slowly(name, pattern + 1))
        return true;
    return *name != '\0' && (*pattern == '?' || *pattern == '*' || *pattern == *name) &&
           matches_slowly(name + 1, pattern + (*pattern != '*'));
}

/* The text of this number in as many letters as there are, shortest first. */
static void write_in_letters(char *text, unsigned number, const char *letters)
{
    size_t n = strlen(letters);

    for (; number > 0; number = (unsigned)((number - 1) / n))
        *text++ = letters[(number - 1) % n];
    *text = '\0';
}

TEST(read_matches_as_trying_everything_does)
{
    char text[32];
    char name[32];
    unsigned matched = 0;

    for (unsigned i = 0; i < 1365; i++) { /* up to five of four characters */
        write_in_letters(text, i, "ab*?");
        strcat(text, ":checked");
        for (unsigned j = 0; j < 63; j++) { /* up to five of two */
            bool expected;

            write_in_letters(name, j, "ab");
            expected = matches_slowly(name, text);
            matched += expected;
            REQUIRE_EQUAL(changes(text, name), expected);
        }
    }
    REQUIRE(matched > 1000);
}

/* --- In a program --- */

/* Whether the pool is checked, found out by a double free. */
static bool finds_double_free(cpool_t *pool)
{
    void *slot = cpool_alloc(pool);

    cpool_free(pool, slot);
    support_capture_reports();
    cpool_free(pool, slot);
    return support_take_reports(NULL) == 1;
}

static cpool_config_t small_config(void)
{
    cpool_config_t config = support_config(24, 100);

    config.thread_caches = 4;
    config.name = "mine";
    return config;
}

/* With so much memory, or as much as is required. */
static void use_callers_memory(void *size)
{
    cpool_config_t config = small_config();

    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "checked", 1), 0);
    if (size != NULL) /* an escape, and two bytes for the last of 31 */
        config.name = "mine\x1b" "[1m 567890123456789012345\xc3\xa9";
    config.memory_size = size != NULL ? *(const size_t *)size : cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    fprintf(stderr, finds_double_free(support_create(&config)) ? "found\n" : "not found\n");
}

TEST(memory_required_includes_the_checks)
{
    struct support_outcome outcome;

    support_fork(use_callers_memory, NULL, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strcmp(outcome.text, "found\n") == 0);
}

static void print_required(void *unused)
{
    cpool_config_t config = small_config();

    (void)unused;
    fprintf(stderr, "%zu", cpool_memory_required(&config));
}

/* A program may know the size of its array from elsewhere. */
TEST(memory_too_small_for_the_checks_is_left_unchecked)
{
    struct support_outcome outcome;
    size_t required;

    support_fork(print_required, NULL, &outcome);
    REQUIRE(sscanf(outcome.text, "%zu", &required) == 1);
    support_fork(use_callers_memory, &required, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strcmp(outcome.text,
                   "cpool: CPOOL_OPTIONS: pool 'mine?[1m 567890123456789012345?' stays as its "
                   "program made it, because with them memory_size is less than "
                   "cpool_memory_required says\nnot found\n") == 0);
}

static const struct cpi_pool *inside(const cpool_t *pool)
{
    return pool->state;
}

/* A program's pool, and what its user says of it. */
struct program {
    const char *options;
    const char *name;
    size_t capacity;
    size_t max_capacity;
    bool is_clients;
    size_t magazine_rounds;
};

static void make_pool(void *argument)
{
    const struct program *program = argument;
    cpool_client_t client = { .size = sizeof(client) };
    cpool_config_t config = support_config(48, program->capacity);
    cpool_stats_t stats = CPOOL_STATS_INIT;
    cpool_t *pool;

    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", program->options, 1), 0);
    config.name = program->name;
    config.max_capacity = program->max_capacity;
    config.magazine_rounds = program->magazine_rounds;
    if (program->is_clients)
        REQUIRE_EQUAL(cpool_client_create(&client, &config), 0);
    pool = program->is_clients ? client.pool : support_create(&config);
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "", 1), 0); /* the words are read once */
    REQUIRE_EQUAL(cpool_read_stats(pool, &stats), 0);
    fprintf(stderr, "%zu up to %zu%s%s", stats.capacity, stats.max_capacity,
            (inside(pool)->checked ? ", checked" : ""),
            (inside(pool)->registry.max == 3 ? ", 3 caches" : ""));
    REQUIRE_EQUAL(cpool_index_limit(program->is_clients ? client.face : pool), stats.max_capacity);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
}

#define OUT(what, has) \
    "cpool: CPOOL_OPTIONS: " what " is out of bounds in pool 'jobs': " has " is used\n"
#define JOBS(capacity, max_capacity) "jobs", capacity, max_capacity, false, 0

static const struct {
    struct program program;
    const char *says;
} trials[] = {
    { { "jobs:capacity=500", JOBS(1000, 0) }, "500 up to 500" },
    { { "jobs:capacity=500", "others", 1000, 0, false, 0 }, "1000 up to 1000" },
    { { "jo*:capacity=500,jobs:checked", JOBS(1000, 0) }, "500 up to 500, checked" },
    { { "capacity=5,j?b*:capacity=7", JOBS(1000, 0) }, "7 up to 7" },
    { { "capacity=1000,jobs:thread_caches=3", JOBS(1000, 0) }, "1000 up to 1000, 3 caches" },
    /* A program has tables of as many entries as cpool_index_limit says, or as it knows. */
    { { "capacity=1001", JOBS(1000, 0) }, OUT("capacity=1001", "1000") "1000 up to 1000" },
    { { "capacity=1001,max_capacity=5000", JOBS(1000, 0) },
      OUT("max_capacity=5000", "1000") OUT("capacity=1001", "1000")
          "1000 up to 1000" },
    { { "capacity=2000", JOBS(1000, 2000) }, "2000 up to 2000" },
    { { "capacity=2001", JOBS(1000, 2000) }, OUT("capacity=2001", "2000") "2000 up to 2000" },
    { { "capacity=300", JOBS(1000, 2000) }, "300 up to 2000" },
    { { "max_capacity=1500,capacity=1200", JOBS(1000, 2000) }, "1200 up to 1500" },
    { { "max_capacity=0,capacity=1200", JOBS(1000, 2000) }, "1200 up to 1200" },
    { { "max_capacity=500", JOBS(1000, 2000) }, OUT("capacity=1000", "500") "500 up to 500" },
    { { "capacity=0", JOBS(1000, 0) }, OUT("capacity=0", "1") "1 up to 1" },
    { { "capacity=10", "jobs", 1000, 0, false, 64 },
      OUT("magazine_rounds=64", "10") "10 up to 10" },
    { { "thread_caches=65536,checked", JOBS(10, 0) },
      OUT("thread_caches=65536", "65535") "10 up to 10, checked" },
    /* A client takes all slots that it has asked for. */
    { { "capacity=5,max_capacity=3,checked", "jobs", 10, 0, true, 0 },
      OUT("capacity=5", "10") "10 up to 10, checked" },
    { { "capacity=50", "jobs", 10, 100, true, 0 }, OUT("capacity=50", "10") "10 up to 100" },
    /* What the names of pools are cut to, and changed to, is what reports have. */
    { { "mine???57:checked", "mine, \xc3\xa9" "57", 10, 0, false, 0 }, "10 up to 10" },
    { { "mine????57:checked", "mine, \xc3\xa9" "57", 10, 0, false, 0 }, "10 up to 10, checked" },
    { { "1234567890123456789012345678901:checked", "1234567890123456789012345678901234", 10, 0,
        false, 0 }, "10 up to 10, checked" },
};

TEST_TIMES(options_change_a_pool_within_what_its_program_allows, SUPPORT_LENGTH(trials))
{
    struct program program = trials[_i].program;
    struct support_outcome outcome;

    support_fork(make_pool, &program, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    if (strcmp(outcome.text, trials[_i].says) != 0)
        fprintf(stderr, "%s: %s\n", program.options, outcome.text);
    REQUIRE(strcmp(outcome.text, trials[_i].says) == 0);
}

static void make_wrong_pool(void *unused)
{
    cpool_config_t config = support_config(48, 10);
    cpool_t *pool;

    (void)unused;
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "capacity=5,max_capacity=0,magazine_rounds=1", 1), 0);
    config.max_capacity = 9;
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_ECAPACITY);
    REQUIRE_EQUAL(cpool_memory_required(&config), 0);
    config.max_capacity = 0;
    config.magazine_rounds = 11;
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_EROUNDS);
}

/* A program's mistake does not depend on its user. */
TEST(options_do_not_mend_a_wrong_configuration)
{
    struct support_outcome outcome;

    support_fork(make_wrong_pool, NULL, &outcome);
    REQUIRE(outcome.status == 0 && outcome.length == 0);
}

/* In memory of the caller's, with as much as is required. */
static void make_in_memory(void *options)
{
    cpool_client_t client = { .size = sizeof(client) };
    cpool_config_t config = small_config();
    cpool_stats_t stats = CPOOL_STATS_INIT;
    cpool_t *pool;

    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", options, 1), 0);
    config.max_capacity = 5000;
    config.memory_size = cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_read_stats(pool, &stats), 0);
    fprintf(stderr, "%zu up to %zu, %zu caches;", stats.capacity, stats.max_capacity,
            inside(pool)->registry.max);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    REQUIRE_EQUAL(cpool_client_create(&client, &config), 0);
    REQUIRE(finds_double_free(client.pool));
}

TEST(memory_required_includes_each_setting)
{
    static const char *const pairs[][2] = {
        { "checked,capacity=5,max_capacity=10", "5 up to 10, 4 caches;" },
        { "capacity=5000,checked", "5000 up to 5000, 4 caches;" },
        { "thread_caches=50,magazine_rounds=3,checked", "100 up to 5000, 50 caches;" },
    };
    struct support_outcome outcome;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        support_fork(make_in_memory, (void *)(uintptr_t)pairs[i][0], &outcome);
        REQUIRE_EQUAL(outcome.status, 0);
        REQUIRE(strstr(outcome.text, pairs[i][1]) != NULL);
        REQUIRE(strstr(outcome.text, "stays as its program made it") == NULL);
    }
}

/* --- Files --- */

#define WORDS_FILE "check_options.words"

/* The output of a program with a pool "jobs" of 1000 slots, while the file has this text. */
static void run_with_file(const char *options, const char *text, size_t size,
                          struct support_outcome *outcome)
{
    struct program program = { .options = options, .name = "jobs", .capacity = 1000 };
    FILE *file = fopen(WORDS_FILE, "wb");

    REQUIRE(file != NULL && fwrite(text, 1, size, file) == size && fclose(file) == 0);
    support_fork(make_pool, &program, outcome);
    REQUIRE(remove(WORDS_FILE) == 0);
    REQUIRE_EQUAL(outcome->status, 0);
}

static void require_output(const char *options, const char *text, size_t size, const char *says)
{
    struct support_outcome outcome;

    run_with_file(options, text, size, &outcome);
    REQUIRE(strcmp(outcome.text, says) == 0);
}

#define RUN(options, text, outcome) run_with_file(options, text, sizeof(text) - 1, outcome)
#define REQUIRE_OUTPUT(options, text, says) require_output(options, text, sizeof(text) - 1, says)
#define AT "@" WORDS_FILE

/* A file's words take the place of its name, so words behind it win. */
TEST(file_is_read_in_place)
{
    REQUIRE_OUTPUT(AT, "jobs:capacity=500", "500 up to 500");
    REQUIRE_OUTPUT("capacity=5," AT, "jobs:capacity=500", "500 up to 500");
    REQUIRE_OUTPUT(AT " capacity=5", "jobs:capacity=500", "5 up to 5");
    REQUIRE_OUTPUT(AT ",jobs:thread_caches=3," AT, "", "1000 up to 1000, 3 caches");
}

TEST(file_has_comments_lines_and_any_byte)
{
    REQUIRE_OUTPUT(AT ",thread_caches=3",
                   "# checked, capacity=3 # all\r\n"
                   "jobs:capacity=500# nothing, checked\r\n\n"
                   "#\n\0,\0jobs:capacity=400\0\tother:checked # thread_caches=5",
                   "400 up to 400, 3 caches");
}

TEST(file_that_cannot_be_read_is_told_of)
{
    static const char *const paths[] = { "", "/", ("no/" WORDS_FILE) };
    char options[100];
    char says[200];

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        snprintf(options, sizeof(options), "@%s,capacity=7", paths[i]);
        snprintf(says, sizeof(says), "cpool: CPOOL_OPTIONS: '@%s' is ignored, because it "
                 "cannot be read\n7 up to 7", paths[i]);
        REQUIRE_OUTPUT(options, "checked", says);
    }
}

TEST(file_does_not_name_another_one)
{
    struct support_outcome outcome;

    RUN(AT, AT " jobs:" AT " capacity=7", &outcome);
    REQUIRE(strncmp(outcome.text, "cpool: CPOOL_OPTIONS: '" AT "' is not understood\n"
                    "cpool: CPOOL_OPTIONS: 'jobs:" AT "' is not understood\n"
                    "cpool: CPOOL_OPTIONS: the words, ", 137) == 0);
    REQUIRE(strstr(outcome.text, "\n7 up to 7") != NULL);
}

/* All words together, and never a part of a file. */
TEST(file_that_is_too_long_is_left_out)
{
    static char text[CPI_OPTIONS_MAX + 1];
    struct support_outcome outcome;

    memset(text, ' ', sizeof(text));
    memcpy(text, "checked", 7);
    require_output(AT ",capacity=7", text, sizeof(text) - 20, "7 up to 7, checked");
    for (size_t less = 0; less < 3; less++) {
        require_output(AT ",capacity=7", text, sizeof(text) - less,
                       "cpool: CPOOL_OPTIONS: '" AT "' is ignored, "
                       "because it makes more than 64 KiB\n7 up to 7");
        run_with_file("capacity=7," AT, text, sizeof(text) - less, &outcome); /* nothing follows */
        REQUIRE(strstr(outcome.text, " 64 KiB\n7 up to 7") != NULL &&
                strstr(outcome.text, "checked") == NULL);
    }
    memcpy(text + sizeof(text) - 20, "capacity=500", 12); /* and behind it is room for three */
    run_with_file(AT ",,,capacity=7", text, sizeof(text) - 5, &outcome);
    REQUIRE(strncmp(outcome.text, "cpool: CPOOL_OPTIONS: 'capacity=7' is ignored, because it makes",
                    63) == 0);
    REQUIRE(strstr(outcome.text, "\n500 up to 500, checked") != NULL);
}

/* Some words that are wrong are named, and then the right ones, once. */
TEST(words_that_are_wrong_are_named_with_the_right_ones)
{
    struct support_outcome outcome;
    size_t lines = 0;

    RUN(AT ",checkd", "a b c d e f\x1b[1m \"g h i j k l", &outcome);
    for (const char *line = outcome.text; (line = strstr(line, "cpool: ")) != NULL; line++)
        lines++;
    REQUIRE_EQUAL(lines, 9);
    REQUIRE(strstr(outcome.text, "'f?[1m' is not understood\n") != NULL);
    REQUIRE(strstr(outcome.text, "'?g' is not understood\n") != NULL);
    REQUIRE(strstr(outcome.text, "the words, in lower case and with commas between: checked, ") !=
            NULL);
    REQUIRE(strstr(outcome.text, "capacity=N") != NULL && strstr(outcome.text, "@FILE") != NULL);
    REQUIRE(strstr(outcome.text, "(* and ?)\n1000 up to 1000") != NULL); /* not cut */
}
