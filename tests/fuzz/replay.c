/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - runs a corpus through the target without a fuzzer.
 *
 * usage: replay CORPUS           runs each line of the file, bytes as hexadecimal digits
 *        replay -f FILE...       runs files, as a fuzzer leaves them
 *        replay -r SEED COUNT    runs COUNT programs of random bytes
 *        replay -g SEED NUMBER   prints one of these programs as a line of a corpus
 *        replay -p FILE...       prints files as lines of a corpus
 *        replay -u DIRECTORY CORPUS   writes each line into a file of its own
 *
 * In `make check` the environment names the source tree, and the corpus is that of the tree.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { LONGEST = 4096 };

static int unhex(int digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static FILE *open_file(const char *name, const char *mode)
{
    FILE *file = fopen(name, mode);

    if (file == NULL) {
        perror(name);
        exit(2);
    }
    return file;
}

/* The bytes of the next line, or false at the end. */
static bool read_line(FILE *file, uint8_t *bytes, size_t *size)
{
    int high = fgetc(file);

    for (*size = 0; high != '\n' && high != EOF; high = fgetc(file)) {
        int low = fgetc(file);

        FUZZ_REQUIRE(*size < LONGEST && unhex(high) >= 0 && unhex(low) >= 0);
        bytes[(*size)++] = (uint8_t)(unhex(high) << 4 | unhex(low));
    }
    return high != EOF;
}

static size_t run_corpus(const char *name, const char *directory)
{
    FILE *file = open_file(name, "r");
    uint8_t bytes[LONGEST];
    char path[4200];
    size_t count = 0;
    size_t size;

    while (read_line(file, bytes, &size)) {
        count++;
        if (directory == NULL) {
            fuzz_trace("line", count);
            LLVMFuzzerTestOneInput(bytes, size);
            continue;
        }
        snprintf(path, sizeof path, "%s/%06zu", directory, count);
        FILE *out = open_file(path, "wb");
        FUZZ_EQUAL(fwrite(bytes, 1, size, out), size);
        fclose(out);
    }
    fclose(file);
    return count;
}

static void print(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        printf("%02x%s", bytes[i], i + 1 == size ? "\n" : "");
}

static void run_file(const char *name, bool prints)
{
    FILE *file = open_file(name, "rb");
    uint8_t bytes[LONGEST];
    size_t size = fread(bytes, 1, sizeof bytes, file);

    fclose(file);
    if (prints)
        print(bytes, size);
    else
        LLVMFuzzerTestOneInput(bytes, size);
}

/* Program `number` of a seed.  Returns its size. */
static size_t make_up(uint64_t seed, size_t number, uint8_t bytes[LONGEST])
{
    uint64_t random = random_derive(seed, number);
    size_t size = random_between(&random, 16, 1500);

    for (size_t at = 0; at < size; at++)
        bytes[at] = (uint8_t)random_next(&random);
    return size;
}

static void run_random(uint64_t seed, size_t count)
{
    uint8_t bytes[LONGEST];

    for (size_t i = 0; i < count; i++) {
        fuzz_trace("program", i);
        LLVMFuzzerTestOneInput(bytes, make_up(seed, i, bytes));
    }
}

/* As `make check` runs it: the corpus several times, because handles come round after many pools,
 * and as many random programs as there is time for. */
static int run_all(void)
{
    const char *source = getenv("srcdir");
    char path[4096];
    size_t count = 0;

    snprintf(path, sizeof path, "%s/tests/fuzz/corpus.txt", source != NULL ? source : ".");
    for (int round = 0; round < 5; round++)
        count = run_corpus(path, NULL);
    run_random(1, 500);
    printf("%zu programs of the corpus, and 500 at random\n", count);
    return 0;
}

int main(int count, char **words)
{
    uint8_t bytes[LONGEST];

    if (count < 2)
        return run_all();
    if (strcmp(words[1], "-r") == 0 && count == 4) {
        run_random(strtoull(words[2], NULL, 10), (size_t)strtoull(words[3], NULL, 10));
        return 0;
    }
    if (strcmp(words[1], "-g") == 0 && count == 4) {
        print(bytes, make_up(strtoull(words[2], NULL, 10),
                             (size_t)strtoull(words[3], NULL, 10), bytes));
        return 0;
    }
    if (strcmp(words[1], "-u") == 0 && count == 4) {
        printf("%zu programs\n", run_corpus(words[3], words[2]));
        return 0;
    }
    if (words[1][0] != '-') {
        printf("%zu programs\n", run_corpus(words[1], NULL));
        return 0;
    }
    for (int i = 2; i < count; i++)
        run_file(words[i], strcmp(words[1], "-p") == 0);
    return 0;
}
