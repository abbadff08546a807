/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - the main function of a program that has none: it runs the tests of TEST.
 */
#include "support.h"

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;

    return support_run_all(slash != NULL ? slash + 1 : "check");
}
