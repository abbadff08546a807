/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connections.c - a bounded pool of TCP connections.
 *
 * The hook create opens a connection, activate checks whether the server has closed it in the
 * meantime, and destroy closes it.  So a connection is reused as long as it is healthy.
 * When there are more threads than connections, they wait for one, for a limited time.  The server,
 * here on the loopback interface, hangs up after a few requests on each connection.  After a peak
 * idle connections are closed, but for one.
 *
 *     cc connections.c $(pkg-config --cflags --libs cpool) -pthread
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* MSG_NOSIGNAL, where -std=c11 hides it */
#endif

#include <cpool/object.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 3
#define CLIENTS 8
#define REQUESTS 40         /* of each client */
#define REQUESTS_A_LINE 5   /* then the server hangs up */
#define IDLE_LEAST 1        /* connections that stay open */
#define PATIENCE UINT64_C(60000000000) /* nanoseconds */

struct connection {
    int socket;
    unsigned requests;
};

/*
 * ---- The server: answers each number with its square -----------------------
 */

static struct sockaddr_in address;

static void *serve_one(void *argument)
{
    int line = *(int *)argument;
    unsigned number;

    free(argument);
    for (int i = 0; i < REQUESTS_A_LINE; i++) {
        if (recv(line, &number, sizeof number, MSG_WAITALL) != sizeof number)
            break;
        number *= number;
        if (send(line, &number, sizeof number, MSG_NOSIGNAL) != sizeof number)
            break;
    }
    close(line);
    return NULL;
}

static void *serve(void *argument)
{
    int listener = *(int *)argument;

    for (;;) {
        int *line = malloc(sizeof *line);
        pthread_t thread;

        if (line == NULL || (*line = accept(listener, NULL, NULL)) < 0) {
            free(line);
            shutdown(listener, SHUT_RDWR); /* no client waits for an answer */
            return NULL;
        }
        if (pthread_create(&thread, NULL, serve_one, line) != 0) {
            close(*line);
            free(line);
            continue;
        }
        pthread_detach(thread);
    }
}

/*
 * ---- The hooks -------------------------------------------------------------
 */

static int open_connection(void *object, void *arg)
{
    struct connection *connection = object;

    connection->requests = 0;
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connection->socket < 0)
        return errno;
    if (connect(connection->socket, arg, sizeof address) != 0) {
        int code = errno;

        close(connection->socket);
        return code;
    }
    return 0;
}

/* An idle connection has nothing to read: if it does, it was closed. */
static int check_connection(void *object, void *arg)
{
    struct connection *connection = object;
    struct pollfd state = { .fd = connection->socket, .events = POLLIN };

    (void)arg;
    return poll(&state, 1, 0) == 0 ? 0 : ECONNRESET;
}

static void close_connection(void *object, void *arg)
{
    struct connection *connection = object;

    (void)arg;
    close(connection->socket);
}

/*
 * ---- The clients -----------------------------------------------------------
 */

static cpool_objects_t *connections;

static unsigned ask(struct connection *connection, unsigned number)
{
    unsigned answer = 0;

    connection->requests++;
    if (send(connection->socket, &number, sizeof number, MSG_NOSIGNAL) != sizeof number ||
        recv(connection->socket, &answer, sizeof answer, MSG_WAITALL) != sizeof answer)
        return 0;
    return answer;
}

/* The server may hang up after the check and before the request, so the request is tried
 * again on another connection. */
static void *run_client(void *argument)
{
    size_t *answered = argument;

    for (unsigned number = 1; number <= REQUESTS; number++) {
        unsigned answer = 0;

        while (answer == 0) {
            cpool_grant_t grant = CPOOL_GRANT_INIT;
            void *connection;
            int code;

            grant.wait_ns = PATIENCE;
            code = cpool_object_get_with(connections, &connection, &grant);
            if (code != 0) {
                fprintf(stderr, "no connection: %s\n",
                        code > 0 ? strerror(code) : cpool_strerror(code));
                return NULL;
            }
            answer = ask(connection, number);
            cpool_object_put(connections, connection);
        }
        *answered += answer == number * number;
    }
    return NULL;
}

static int listen_on_loopback(void)
{
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, CLIENTS) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror("no server");
        exit(1);
    }
    return listener;
}

static cpool_objects_t *make_pool(void)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    int code;

    type.object_size = sizeof(struct connection);
    type.create = open_connection;
    type.activate = check_connection;
    type.destroy = close_connection;
    type.arg = &address;
    config.name = "connections";
    config.type = &type;
    config.growth = 1;
    config.max_capacity = CONNECTIONS;
    config.flags = CPOOL_OBJECT_COUNTED | CPOOL_OBJECT_WAITABLE;
    code = cpool_objects_create(&pool, &config);
    if (code != 0) {
        fprintf(stderr, "no pool: %s\n", cpool_strerror(code));
        exit(1);
    }
    return pool;
}

/* The pool grows again by itself. */
static void close_idle(void)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;

    cpool_objects_read_stats(connections, &stats);
    cpool_objects_resize(connections, -(ptrdiff_t)(stats.capacity - stats.active - IDLE_LEAST), 0);
    cpool_objects_read_stats(connections, &stats);
    printf("%zu idle connection stays open\n", stats.inactive);
}

int main(void)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;
    int listener = listen_on_loopback();
    pthread_t server, clients[CLIENTS];
    size_t answered[CLIENTS] = { 0 };
    size_t sum = 0;

    connections = make_pool();
    if (pthread_create(&server, NULL, serve, &listener) != 0)
        return 1;
    for (int i = 0; i < CLIENTS; i++)
        if (pthread_create(&clients[i], NULL, run_client, &answered[i]) != 0)
            return 1;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i], NULL);
        sum += answered[i];
    }
    cpool_objects_read_stats(connections, &stats);
    printf("%zu of %d requests answered\n", sum, CLIENTS * REQUESTS);
    if (stats.peak <= CONNECTIONS)
        printf("%d clients, no more than %d connections at once\n", CLIENTS, CONNECTIONS);
    if (stats.creations < sum && stats.hook_failures > 0)
        printf("connections were used again, and replaced when the server had hung up\n");
    close_idle();
    cpool_objects_destroy(connections);
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);
    return sum == CLIENTS * REQUESTS ? 0 : 1;
}
