/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decide.h - the decisions that determine a run, by explorer.h's strategies.
 */
#ifndef DECIDE_H
#define DECIDE_H

#include <stdbool.h>

/* Once per process. */
void decide_startup(const char *program);

/* Before each run. */
void decide_begin(void);

/* A number below `options`, which are 2 or more.  0 is the cheapest, and every other costs
 * if it is `costly`.  At random one of these comes once in `odds` times. */
unsigned decide(unsigned options, bool costly, unsigned odds);

#endif /* DECIDE_H */
