#!/bin/sh
# A cache of texts in Perl: the older one is, the less often it is asked for
cd "$(dirname "$0")" && exec perl perl-cache.pl
