# What perl-expire.sh runs.
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(time);

require "./pace.pl";
srand(7);
my @letters = ("a" .. "z");
my @words = map { join "", map { $letters[rand @letters] } 1 .. 8 } 1 .. 60;
my $text = join " ", map { $words[rand @words] } 1 .. 100_000;
# What the pages were made from, and which is not needed any more.
my $source = $text x 900;
my ($pages, $new) = (500_000, 10_000);
my @cache = map { [$_, "page $_ " . substr $text, $_, 2000] } 1 .. $pages;
$| = 1;
print length $source, " letters, $pages pages\n";
my ($begun, $length) = (begin_work(), 0);
for my $sweep (1 .. 3) {
    my ($begin, $old) = (time, 0);
    # 20,000 requests a second, for ten seconds.
    for my $turn (1 .. 1000) {
        $length += length $cache[$pages - 1 - int rand $new][1] for 1 .. 200;
        wait_until($begin + $turn / 100);
    }
    $old += ord $_->[1] < ord "p" for @cache;
    print "sweep $sweep: $old pages are too old\n";
}
printf "%d letters\nworked %.3f\n", $length, time - $begun;
# Without giving back every page one by one.
POSIX::_exit(0);
