/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gnu.h - asks the system's headers for what is beyond C11.  Stands before all of them in the
 * sources that need it, so that they compile with -std=c11.
 */
#ifndef CPI_GNU_H
#define CPI_GNU_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#endif /* CPI_GNU_H */
