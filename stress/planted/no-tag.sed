# SPDX-License-Identifier: BSD-2-Clause
# A pop that does not advance the tag: the ABA problem.
s|((old & ~CPI_INDEX_MASK) + CPI_TAG_ONE) . next,|(old \& ~CPI_INDEX_MASK) \| next, /* planted */|
