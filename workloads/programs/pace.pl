# The pace of a service, for the programs in Perl.
use strict;
use warnings;
use Time::HiRes qw(sleep time);

my $started = time;

# Waits until work begins in all runs, and says when that is: eight seconds are the most that it
# takes to set up.
sub begin_work {
    wait_until($started + 8);
    return time;
}

sub wait_until {
    my $left = $_[0] - time;
    sleep $left if $left > 0;
}

1;
