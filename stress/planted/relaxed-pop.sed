# SPDX-License-Identifier: BSD-2-Clause
# A pop without any acquire: neither at its first load nor at its CAS.
s|cpi_load(&stack->head, acquire); /. .top. ./|cpi_load(\&stack->head, relaxed); /* planted */|
s|acq_rel, acquire)).*again.*|relaxed, relaxed)) /* planted */|
