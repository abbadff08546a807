/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.c - a server shows the figures of all its pools to those who watch over it.
 *
 * For programs in production.  GET /metrics is what Prometheus asks for, /pools is the same for
 * other programs, as JSON, and /health says whether a pool is nearly dry.  No part of the program
 * has to register its pools: the library knows them.  One pool also says so by itself, before it is
 * dry and somebody asks.
 *
 * A client that takes its time holds up nobody: cpool_dump writes without a lock.
 *
 *     cc -std=c11 metrics.c $(pkg-config --cflags --libs cpool) -pthread
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* dprintf, where -std=c11 hides it */
#endif

#include <cpool/pools.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct session {
    char user[32];
};

struct order {
    unsigned article, count;
};

/*
 * ---- The answers ------------------------------------------------------------
 */

/* Whoever has hung up gets no more. */
static void write_text(const char *text, size_t length, void *arg)
{
    int client = *(const int *)arg;

    while (length > 0) {
        ssize_t part = send(client, text, length, MSG_NOSIGNAL);

        if (part <= 0)
            return;
        text += part;
        length -= (size_t)part;
    }
}

static void begin_answer(int client, const char *status, const char *type)
{
    unsigned version = cpool_version();
    char text[200];
    int length = snprintf(text, sizeof text,
                          "HTTP/1.0 %s\r\nServer: shop (libcpool %u.%u.%u)\r\n"
                          "Content-Type: %s\r\n\r\n",
                          status, version / 1000000, version / 1000 % 1000, version % 1000, type);

    write_text(text, (size_t)length, &client);
}

/* Ends the walk at a pool of which nine tenths are live. */
static bool has_room(const cpool_view_t *view, void *arg)
{
    if (view->stats->live <= view->stats->max_capacity / 10 * 9)
        return true;
    snprintf(arg, 100, "%s: %zu of %zu are live\n", view->name, view->stats->live,
             view->stats->max_capacity);
    return false;
}

static void answer_health(int client)
{
    char scarce[100] = "";
    const char *text = "all pools have room\n";

    (void)cpool_each(has_room, scarce);
    begin_answer(client, scarce[0] == '\0' ? "200 OK" : "503 Service Unavailable", "text/plain");
    if (scarce[0] != '\0')
        text = scarce;
    write_text(text, strlen(text), &client);
}

static void *answer(void *argument)
{
    int client = *(const int *)argument;
    char request[1000];
    ssize_t length = recv(client, request, sizeof request - 1, 0);

    request[length > 0 ? length : 0] = '\0';
    if (strncmp(request, "GET /metrics ", 13) == 0) {
        begin_answer(client, "200 OK", "text/plain; version=0.0.4");
        cpool_dump(NULL, CPOOL_DUMP_PROMETHEUS, write_text, &client);
    } else if (strncmp(request, "GET /pools ", 11) == 0) {
        begin_answer(client, "200 OK", "application/json");
        cpool_dump(NULL, CPOOL_DUMP_JSON, write_text, &client);
    } else if (strncmp(request, "GET /health ", 12) == 0) {
        answer_health(client);
    } else {
        begin_answer(client, "404 Not Found", "text/plain");
    }
    close(client);
    return NULL;
}

/*
 * ---- A client, for as long as this is an example -------------------------------
 */

/* Prints the lines of the answer with this part. */
static void ask(const char *path, const char *part)
{
    pthread_t server;
    char line[10000];
    int ends[2];
    FILE *stream;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
        pthread_create(&server, NULL, answer, &ends[1]) != 0 ||
        (stream = fdopen(ends[0], "r")) == NULL) {
        perror("metrics");
        exit(1);
    }
    dprintf(ends[0], "GET %s HTTP/1.0\r\n\r\n", path);
    while (fgets(line, sizeof line, stream) != NULL)
        if (strstr(line, part) != NULL)
            printf("%s: %.60s%s", path, line, strlen(line) > 60 ? "...\n" : "");
    fclose(stream);
    pthread_join(server, NULL);
}

/* Here the shop would ask its customers for patience. */
static void tell_scarce(cpool_t *pool, size_t live, void *arg)
{
    (void)pool;
    (void)live;
    (void)arg;
    printf("orders are nearly all taken\n");
}

static cpool_t *make_pool(const char *name, size_t slot_size, size_t capacity)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.name = name;
    config.slot_size = slot_size;
    config.capacity = capacity;
    if (cpool_create(&pool, &config) != 0)
        exit(1);
    return pool;
}

int main(void)
{
    cpool_t *sessions, *orders;
    void *taken[19];
    size_t n;

    if (cpool_version() < CPOOL_VERSION_NUMBER) {
        fputs("metrics: this program needs libcpool " CPOOL_VERSION "\n", stderr);
        return 1;
    }
    sessions = make_pool("sessions", sizeof(struct session), 1000);
    orders = make_pool("orders", sizeof(struct order), 20);
    (void)cpool_set_pressure(orders, (cpool_pressure_t){15, tell_scarce, NULL});
    ask("/health", "pools");
    n = cpool_alloc_bulk(orders, taken, 19, 0);
    ask("/health", "orders");
    ask("/metrics", "live{pool=\"orders\"");
    ask("/pools", "orders");
    cpool_free_bulk(orders, taken, n);
    return cpool_destroy(orders) == 0 && cpool_destroy(sessions) == 0 ? 0 : 1;
}
