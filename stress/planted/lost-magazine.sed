# SPDX-License-Identifier: BSD-2-Clause
# When two threads each want to leave a partly filled magazine in the depot, one
# of the two is forgotten instead of merged.
s|node = merge(depot, counters, other, node);|node = other; (void)merge; /* planted */|
