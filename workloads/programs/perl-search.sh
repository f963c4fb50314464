#!/bin/sh
# A long text in Perl: a chapter is read, and every seven seconds all of it is searched
cd "$(dirname "$0")" && exec perl perl-search.pl
