// SPDX-License-Identifier: BSD-2-Clause
// search.h - goes through the executions of a scenario.
//
// A search is complete, or complete but for executions with more preemptions than a bound, or it
// draws executions at random from seeds that are the same in each run.
#pragma once
#include <cstdint>
#include <string>

struct Effort {
    int preemptions;  // a bound, or -1
    long walks;       // executions at random, or 0
    bool forks;       // the child of a fork is audited at each state
    uint64_t states;  // a complete search that meets more of them gives up
};

struct Outcome {
    bool failed;
    bool complete;       // the search did not give up
    uint64_t states;     // met, or executions
    uint64_t ends;       // of executions that were audited
    std::string error;
};

// search - of `scenario` as `variant` is.  With `trace` the steps to an error are printed.
Outcome search(const Effort &effort, bool trace);
