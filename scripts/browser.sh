#!/bin/sh
# Install the browser that the review page is tested in, where that can be done: Debian, as root.
# Elsewhere those tests are skipped, and say so.
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get -qq update >/dev/null &&
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
            chromium fonts-dejavu-core >/dev/null 2>&1
fi
command -v chromium >/dev/null 2>&1 ||
    echo "no chromium here: the tests of the review page in a browser will be skipped" >&2
exit 0
