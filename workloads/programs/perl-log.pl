# What perl-log.sh runs.
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(time);

require "./pace.pl";
srand(7);
my @letters = ("a" .. "z");
my @words = map { join "", map { $letters[rand @letters] } 0 .. 2 + rand 8 } 1 .. 5000;
my $lines = join "\n", map { join " ", map { $words[rand @words] } 1 .. 12 } 1 .. 4000;
my ($begun, @log, %count) = begin_work();
# 150 parts a second, for twenty seconds.
for my $part (1 .. 3000) {
    push @log, "part $part\n$lines";
    $count{$_}++ for substr($lines, $part, 2000) =~ /\w+/g;
    wait_until($begun + $part / 150);
}
$| = 1;
printf "%d words in %d parts\nworked %.3f\n", scalar %count, scalar @log, time - $begun;
# Without giving back the log.
POSIX::_exit(0);
