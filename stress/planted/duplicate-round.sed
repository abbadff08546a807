# SPDX-License-Identifier: BSD-2-Clause
# When rounds are moved between two magazines and some stay behind, the last one
# moved stays behind as well.
s|cpi_magazine_set_count(from, have - moved);|cpi_magazine_set_count(from, have - moved + (have > moved)); /* planted */|
