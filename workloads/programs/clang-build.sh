#!/bin/sh
# clang: what it reads is kept, and code is made of it piece by piece
fifo=$(mktemp -u) && mkfifo "$fifo" || exit
{
    rm "$fifo"
    perl -e 'for my $i (1 .. 5000) { print <<"END" }'"
int f\$i(int a, int *b, int n) {
    int s = a;
    for (int i = 0; i < n; i++) {
        s += b[i] * \$i;
        if (s > \$i) s ^= b[i] + a; else s -= a * b[n - i - 1];
    }
    return s % 5 ? s * 3 + \$i : a / (s | 1);
}
END
"
} >"$fifo" &
# Only what runs in this process is watched.
exec clang -O1 -x c -c -o /dev/null - <"$fifo"
