# What perl-search.sh runs.
use strict;
use warnings;
use POSIX ();

srand(7);
my @letters = ("a" .. "z", " ", " ", " ", " ");
# A MiB in which nobody finds a "Q".
my $chapter = join "", map { $letters[rand @letters] } 1 .. 1 << 20;
my $text = "";
$text .= $chapter for 1 .. 600;
$| = 1;
print length $text, " letters\n";
for my $word ("Quince", "Quiver", "Quorum") {
    my $words = 0;
    for my $page (0 .. 69) {
        my $read = substr $text, ($page % 4) << 20, 1 << 20;
        $words += () = $read =~ /\b\w+/g;
        select undef, undef, undef, 0.07;
    }
    print "read $words words, found $word at ", index($text, $word), "\n";
}
# Without giving back the text.
POSIX::_exit(0);
