/* How programs of PARSEC and SPLASH-2x go over gigabytes with several threads: ../parallel.toml says what each does.
 *
 *   parallel NAME MIB THREADS ROUNDS
 *
 * The same arguments always make the same work. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rnd(uint64_t *state) { *state ^= *state << 13; *state ^= *state >> 7; return *state ^= *state << 17; }

static void *get(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) perror("parallel"), exit(1);
    return memory;
}

/* Eight fields of rows by themselves; two of them are relaxed eight times in a round, the others once, from the next one. */
static double grids(size_t mib, int rounds) {
    enum { FIELDS = 8 };
    size_t n = sqrt(mib * 131072.0 / FIELDS);
    double **field[FIELDS];
    for (int f = 0; f < FIELDS; f++) {
        field[f] = get(n * sizeof *field[f]);
        for (size_t i = 0; i < n; i++) {
            field[f][i] = get(n * sizeof *field[f][i]);
            for (size_t j = 0; j < n; j++) field[f][i][j] = i + j;
        }
    }
    while (rounds--)
        for (int f = 0; f < FIELDS; f++) {
            double **to = field[f], **from = field[(f + 1) % FIELDS];
            for (int turn = 0; turn < (f < 2 ? 8 : 1); turn++) {
                #pragma omp parallel for
                for (size_t i = 1; i < n - 1; i++)
                    for (size_t j = 1; j < n - 1; j++)
                        to[i][j] = 0.25 * (to[i - 1][j] + to[i + 1][j] + to[i][j - 1] + to[i][j + 1])
                            + 1e-9 * from[i][j] * sqrt(fabs(from[i][j]));
            }
        }
    return field[0][7][7];
}

/* Keys are counted, each thread its own, and scattered from one array to the other by a digit. */
static double scatter(size_t mib, int rounds) {
    enum { DIGITS = 2048, MOST = 64 };
    static size_t place[MOST][DIGITS];
    size_t n = mib << 17;
    uint32_t *from = get(n * 4), *to = get(n * 4);
    uint64_t state = 88172645463325252ULL;
    for (size_t i = 0; i < n; i++) from[i] = rnd(&state), to[i] = 0;
    for (int round = 0; round < rounds; round++) {
        int shift = round % 3 * 11;
        memset(place, 0, sizeof place);
        #pragma omp parallel
        {
            int thread = omp_get_thread_num(), threads = omp_get_num_threads();
            size_t first = n * thread / threads, end = n * (thread + 1) / threads, *own = place[thread];
            for (size_t i = first; i < end; i++) own[from[i] >> shift & (DIGITS - 1)]++;
            #pragma omp barrier
            #pragma omp single
            for (size_t d = 0, at = 0; d < DIGITS; d++)
                for (int t = 0; t < threads; t++) {
                    size_t count = place[t][d];
                    place[t][d] = at;
                    at += count;
                }
            for (size_t i = first; i < end; i++) to[own[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return from[n / 2];
}

/* A tree of transactions is made; then each thread takes an item, and goes from all its nodes up to the root. */
static double mining(size_t mib, int rounds) {
    enum { ITEMS = 1000, DEPTH = 30, TRIES = 20 };
    struct node { int item, count; struct node *parent, *same; uint32_t child, beside; };
    size_t room = (mib << 20) / sizeof(struct node), used = 1;
    struct node *node = get(room * sizeof *node), *head[ITEMS] = {0};
    uint64_t state = 88172645463325252ULL;
    double sum = 0;
    memset(node, 0, sizeof *node);
    while (used + DEPTH < room)
        for (size_t at = 0, item = 0, depth = 0; depth < DEPTH; depth++) {
            double part = rnd(&state) % 1000000 / 1e6;
            item += 1 + (size_t)(part * part * part * 40);
            if (item >= ITEMS) break;
            uint32_t child = node[at].child;
            for (int tries = 0; child && (size_t)node[child].item != item && tries < TRIES; tries++)
                child = node[child].beside;
            if (!child || (size_t)node[child].item != item) {
                child = used++;
                node[child] = (struct node){item, 0, &node[at], head[item], 0, node[at].child};
                node[at].child = child;
                head[item] = &node[child];
            }
            node[child].count++;
            at = child;
        }
    while (rounds--) {
        #pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
        for (int item = ITEMS - 1; item > 0; item--) {
            uint32_t with[ITEMS] = {0};
            for (struct node *one = head[item]; one; one = one->same)
                for (struct node *up = one->parent; up && up != node; up = up->parent) {
                    with[up->item] += one->count;
                    sum += log(with[up->item] + 1.0);
                }
        }
    }
    return sum;
}

int main(int argc, char **argv) {
    const struct { const char *name; double (*run)(size_t, int); } kernels[] = {
        {"grids", grids}, {"scatter", scatter}, {"mining", mining}};
    if (argc != 5 || atoi(argv[3]) < 1 || atoi(argv[3]) > 64)
        return fprintf(stderr, "usage: parallel NAME MIB THREADS ROUNDS, with 1 to 64 threads\n"), 2;
    omp_set_num_threads(atoi(argv[3]));
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, argv[1]))
            return printf("%g\n", kernels[i].run(atol(argv[2]), atoi(argv[4]))), 0;
    return fprintf(stderr, "parallel: there is no '%s'\n", argv[1]), 2;
}
