# What perl-log.sh runs.
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(sleep time);

my $ready = time + 8;
srand(7);
my @letters = ("a" .. "z");
my @words = map { join "", map { $letters[rand @letters] } 0 .. 2 + rand 8 } 1 .. 5000;
my $lines = join "\n", map { join " ", map { $words[rand @words] } 1 .. 12 } 1 .. 4000;
# Eight seconds are the most that it takes to set up: the work of all runs begins then.
my $rest = $ready - time;
sleep $rest if $rest > 0;
my ($begun, @log, %count) = time;
# 150 parts a second, for twenty seconds.
for my $part (1 .. 3000) {
    push @log, "part $part\n$lines";
    $count{$_}++ for substr($lines, $part, 2000) =~ /\w+/g;
    my $left = $begun + $part / 150 - time;
    sleep $left if $left > 0;
}
$| = 1;
printf "%d words in %d parts\nworked %.3f\n", scalar %count, scalar @log, time - $begun;
# Without giving back the log.
POSIX::_exit(0);
