# What perl-cache.sh runs.
use strict;
use warnings;
use POSIX ();

srand(7);
my $texts = 400_000;
my @cache = map { join " ", map { "$_ of some text" } $_ .. $_ + 50 } 1 .. $texts;
print "$texts texts\n";
my $sum = 0;
for (1 .. 500_000) {
    # Half as often for each twentieth that it is older.
    my $age = -log(1 - rand()) / log(2) / 20;
    my $answer = $cache[$texts * (1 - $age)] // "";
    $answer =~ s/(\d+)/<b>$1<\/b>/g;
    $sum += length $answer;
}
$| = 1;
print "$sum\n";
# Without giving back every text one by one.
POSIX::_exit(0);
