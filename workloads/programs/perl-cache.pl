# What perl-cache.sh runs.
use strict;
use warnings;
use POSIX ();
use Time::HiRes qw(time);

require "./pace.pl";
srand(7);
my $texts = 400_000;
my @cache = map { join " ", map { "$_ of some text" } $_ .. $_ + 50 } 1 .. $texts;
$| = 1;
print "$texts texts\n";
my ($begun, $sum) = (begin_work(), 0);
# 25,000 requests a second, for twenty seconds.
for my $turn (1 .. 2000) {
    for (1 .. 250) {
        # Half as often for each twentieth that it is older.
        my $age = -log(1 - rand()) / log(2) / 20;
        my $answer = $cache[$texts * (1 - $age)] // "";
        $answer =~ s/(\d+)/<b>$1<\/b>/g;
        $sum += length $answer;
    }
    wait_until($begun + $turn / 100);
}
printf "sum %d\nworked %.3f\n", $sum, time - $begun;
# Without giving back every text one by one.
POSIX::_exit(0);
