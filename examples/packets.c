/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packets.c - packets come and go in bursts, and so do their buffers.
 *
 * For network code.  A burst is received into buffers that one call has taken, and those that
 * nothing arrived for go back with one call.  An answer of several packets takes all its buffers
 * or none.  What is noted about a packet is in a table beside the pool, by the buffer's index, so
 * that the packet has the buffer for itself.  A packet that is no buffer, because it is always the
 * same, is told from the others by its address.
 *
 * While the line behind is interrupted the pool grows.  Later it shrinks, and gives memory back.
 *
 *     cc -std=c11 packets.c $(pkg-config --cflags --libs cpool)
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* the sockets, where -std=c11 hides them */
#endif

#include <cpool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BURST 8     /* packets */
#define USUAL 64    /* buffers */
#define MOST 16384  /* buffers, if need be */
#define STORM 1000  /* bursts for which the line is interrupted */
#define RECENT 2    /* bursts that are worth sending after that */

struct packet {
    unsigned number;
    char data[252];
};

static cpool_t *buffers;
static unsigned *arrived; /* by the index of a buffer: the burst in which its packet came */
static unsigned burst;
static struct packet keep_alive;

static void require(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* Returns the number of packets, up to BURST. */
static size_t receive(int line, void **packets)
{
    size_t room = cpool_alloc_bulk(buffers, packets, BURST, 0);
    size_t n = 0;

    burst++;
    while (n < room && recv(line, packets[n], sizeof(struct packet), MSG_DONTWAIT) > 0)
        arrived[cpool_index(buffers, packets[n++])] = burst;
    cpool_free_bulk(buffers, packets + n, room - n);
    return n;
}

/* Gives those back that are buffers. */
static void send_all(int line, void **packets, size_t n)
{
    size_t ours = 0;

    for (size_t i = 0; i < n; i++) {
        require(send(line, packets[i], sizeof(struct packet), 0) > 0, "send");
        if (cpool_owns(buffers, packets[i]))
            packets[ours++] = packets[i];
    }
    cpool_free_bulk(buffers, packets, ours);
}

/* Half an answer is of no use to the neighbour, so it gets n packets or none. */
static size_t answer(int line, size_t n)
{
    void *packets[BURST];

    if (cpool_alloc_bulk(buffers, packets, n, n) < n)
        return 0;
    for (size_t i = 0; i < n; i++) {
        struct packet *packet = packets[i];

        memset(packet, 0, sizeof *packet);
        packet->number = (unsigned)i;
    }
    send_all(line, packets, n);
    return n;
}

/* Passes a burst on, and says that this side is there, also if nothing has come. */
static void pass_on(int in, int out)
{
    void *packets[BURST + 1];
    size_t n = receive(in, packets);

    packets[n] = &keep_alive;
    send_all(out, packets, n + 1);
}

/* Returns the number of packets that have come through. */
static size_t read_all(int line)
{
    char data[sizeof(struct packet)];
    size_t n = 0;

    while (recv(line, data, sizeof data, MSG_DONTWAIT) > 0)
        n++;
    return n;
}

/* The neighbour sends, and the line behind is interrupted.  Returns the packets that are kept. */
static size_t keep_all(int in, int neighbour, void **packets)
{
    size_t n = 0;

    for (int i = 0; i < STORM; i++) {
        require(answer(neighbour, BURST) == BURST, "no buffers");
        n += receive(in, packets + n);
    }
    return n;
}

/* Sends those of the last bursts, and drops the others. */
static size_t send_recent(int out, int receiver, void **packets, size_t n)
{
    size_t old = 0;
    size_t came = 0;

    while (old < n && arrived[cpool_index(buffers, packets[old])] + RECENT <= burst)
        old++;
    cpool_free_bulk(buffers, packets, old);
    while (old < n) {
        size_t some = n - old < BURST ? n - old : BURST;

        send_all(out, packets + old, some);
        came += read_all(receiver);
        old += some;
    }
    return came;
}

static size_t read_capacity(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    require(cpool_read_stats(buffers, &stats) == 0, "no figures");
    return stats.capacity;
}

int main(void)
{
    static void *kept[STORM * BURST];
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int in[2], out[2]; /* the first end of each line is ours */
    size_t n, capacity;

    config.name = "buffers";
    config.slot_size = sizeof(struct packet);
    config.capacity = USUAL;
    config.max_capacity = MOST;
    require(cpool_create(&buffers, &config) == 0, "no pool");
    arrived = calloc(cpool_index_limit(buffers), sizeof *arrived); /* also for those to come */
    require(arrived != NULL, "no table");
    require(socketpair(AF_UNIX, SOCK_DGRAM, 0, in) == 0 &&
            socketpair(AF_UNIX, SOCK_DGRAM, 0, out) == 0, "no lines");

    require(answer(in[1], 5) == 5, "no buffers");
    pass_on(in[0], out[0]);
    printf("%zu packets came through, one of them to keep the line alive\n", read_all(out[1]));

    n = keep_all(in[0], in[1], kept);
    printf("%zu of %zu kept packets were worth sending\n",
           send_recent(out[0], out[1], kept, n), n);
    capacity = read_capacity();
    cpool_shrink(buffers, capacity - USUAL);
    cpool_trim(buffers); /* the memory of those that stay, until they are used again */
    if (capacity >= n)
        printf("the pool grew for them, and has %zu buffers again\n", read_capacity());
    free(arrived);
    return cpool_destroy(buffers) == 0 ? 0 : 1;
}
