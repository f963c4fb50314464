#!/bin/sh
# A cache of pages in Perl: new ones are asked for, and every ten seconds all are looked through
cd "$(dirname "$0")" && exec perl perl-expire.pl
