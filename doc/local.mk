# SPDX-License-Identifier: BSD-2-Clause
# doc/local.mk - documents and manual pages, by explicit list.

EXTRA_DIST +=
