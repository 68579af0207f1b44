#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man page names every verb and option that --help names, and a formatter reads it without a warning.
# usage: check_man_page.sh ASSAY MAN_PAGE
set -eu
assay=$1 page=$2
missing=0
plain=$(sed 's/\\-/-/g; s/\\&//g' "$page")
verbs=$("$assay" --help | sed -n '/^verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for verb in $verbs; do
    printf '%s\n' "$plain" | grep -q "^\.SS .*$verb" || { echo "the man page lacks the verb $verb"; missing=1; }
    for option in $("$assay" "$verb" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do
        printf '%s\n' "$plain" | grep -q -e "$option\b" || { echo "the man page lacks $verb $option"; missing=1; }
    done
done
[ "$missing" = 0 ] || exit 1
if command -v mandoc >/dev/null 2>&1; then
    mandoc -T lint -W warning "$page"
elif command -v man >/dev/null 2>&1 && command -v groff >/dev/null 2>&1; then
    warnings=$(LC_ALL=C MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || { echo "$warnings"; exit 1; }
else
    echo "skipped: no mandoc or man to read the page with; its verbs and options are all there"
    exit 77
fi
