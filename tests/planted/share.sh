# SPDX-License-Identifier: BSD-2-Clause
# share.sh - read by scripts that plant bugs: PLANTED_SHARE=1/4 plants every fourth one, and 0/4,
# 2/4 and 3/4 plant the others.  By default all are planted.
# shellcheck shell=sh

share_count=0

# Whether the next bug is planted.
in_share() {
    share_count=$((share_count + 1))
    [ $((share_count % ${PLANTED_SHARE##*/})) -eq "${PLANTED_SHARE%%/*}" ]
}
PLANTED_SHARE=${PLANTED_SHARE:-0/1}
