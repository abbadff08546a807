/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eventloop.c - one thread serves many connections, and never sleeps for a buffer.
 *
 * For servers with an event loop.  The loop reads messages into buffers of a pool, and a second
 * thread writes them to a disk and frees them.  When no buffer is free, the loop stops reading, so
 * that the senders have to wait, and serves the rest of its events.  The pool calls `wake` as soon
 * as there may be a buffer again, and that makes a pipe readable, which is one event more.  With
 * epoll or kqueue it is the same, and on Linux an eventfd does for the pipe.
 *
 *     cc -std=c11 eventloop.c $(pkg-config --cflags --libs cpool) -pthread
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* sockets and nanosleep, where -std=c11 hides them */
#endif

#include <cpool.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 4
#define MESSAGES 100 /* of each client */
#define BUFFERS 8

struct message {
    unsigned client, number;
};

struct buffer {
    struct buffer *next;
    struct message message;
};

static cpool_t *buffers;

static void require(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/*
 * ---- The disk: a thread that writes BUFFERS messages at once -------------------
 */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct buffer *full; /* these under the mutex */
static size_t full_count;
static bool is_over;

static size_t written; /* by the disk */

static void hand_to_disk(struct buffer *buffer)
{
    pthread_mutex_lock(&mutex);
    buffer->next = full;
    full = buffer;
    full_count++;
    if (full_count == BUFFERS)
        pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

/* Here nothing is written, but it takes its time. */
static void write_batch(struct buffer *batch)
{
    const struct timespec time = { 0, 1000000 };

    nanosleep(&time, NULL);
    while (batch != NULL) {
        struct buffer *next = batch->next;

        written++;
        cpool_free(buffers, batch);
        batch = next;
    }
}

static void *run_disk(void *argument)
{
    bool over = false;

    (void)argument;
    while (!over) {
        struct buffer *batch;

        pthread_mutex_lock(&mutex);
        while (full_count < BUFFERS && !is_over)
            pthread_cond_wait(&changed, &mutex);
        over = is_over;
        batch = full;
        full = NULL;
        full_count = 0;
        pthread_mutex_unlock(&mutex);
        write_batch(batch);
    }
    return NULL;
}

/*
 * ---- The loop ---------------------------------------------------------------
 */

static struct pollfd events[1 + CLIENTS]; /* the first one is the pipe's end for reading */
static int wakeup;                        /* and this is its other end */
static int open_clients = CLIENTS;
static bool is_paused;
static unsigned pauses;

/* In the thread that has freed a buffer, whose errno stays.  A full pipe is readable anyway. */
static void wake(cpool_t *pool, void *arg)
{
    int kept = errno;

    (void)pool;
    if (write(*(const int *)arg, "", 1) < 0)
        errno = kept;
}

static void read_message(struct pollfd *event)
{
    struct buffer *buffer = cpool_alloc_or_notify(buffers);
    ssize_t length;

    if (buffer == NULL) {
        is_paused = true;
        pauses++;
        return;
    }
    length = recv(event->fd, &buffer->message, sizeof buffer->message, MSG_WAITALL);
    if (length == (ssize_t)sizeof buffer->message) {
        hand_to_disk(buffer);
        return;
    }
    cpool_free(buffers, buffer); /* the client has hung up */
    close(event->fd);
    event->fd = -1;
    open_clients--;
}

static void run_loop(void)
{
    while (open_clients > 0) {
        require(poll(events, is_paused ? 1 : 1 + CLIENTS, -1) > 0, "poll");
        if (events[0].revents != 0) {
            char notices[64];

            is_paused = read(events[0].fd, notices, sizeof notices) <= 0;
            continue;
        }
        for (size_t i = 1; i <= CLIENTS && !is_paused; i++)
            if (events[i].revents != 0)
                read_message(&events[i]);
    }
}

/*
 * ---- The clients, here all in one thread -----------------------------------
 */

static int lines[CLIENTS];

static void *run_clients(void *argument)
{
    (void)argument;
    for (unsigned number = 0; number < MESSAGES; number++)
        for (unsigned i = 0; i < CLIENTS; i++) {
            struct message message = { i, number };

            require(send(lines[i], &message, sizeof message, 0) == sizeof message, "send");
        }
    for (unsigned i = 0; i < CLIENTS; i++)
        close(lines[i]);
    return NULL;
}

static void connect_all(void)
{
    int ends[2];

    require(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0, "pipe");
    events[0].fd = ends[0];
    wakeup = ends[1];
    for (int i = 0; i < CLIENTS; i++) {
        require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
        events[1 + i].fd = ends[0];
        lines[i] = ends[1];
    }
    for (int i = 0; i <= CLIENTS; i++)
        events[i].events = POLLIN;
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    pthread_t disk, clients;

    config.name = "buffers";
    config.slot_size = sizeof(struct buffer);
    config.capacity = BUFFERS;
    require(cpool_create(&buffers, &config) == 0, "no pool");
    require(cpool_set_ready(buffers, wake, &wakeup) == 0, "no notices");
    connect_all();
    require(pthread_create(&disk, NULL, run_disk, NULL) == 0, "no thread");
    require(pthread_create(&clients, NULL, run_clients, NULL) == 0, "no thread");
    run_loop();
    pthread_mutex_lock(&mutex);
    is_over = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(clients, NULL);
    pthread_join(disk, NULL);
    printf("%zu messages of %d clients written, with %d buffers; reading stopped %u times\n",
           written, CLIENTS, BUFFERS, pauses);
    return cpool_destroy(buffers) == 0 && written == CLIENTS * MESSAGES ? 0 : 1;
}
