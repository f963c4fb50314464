/* How programs of PARSEC and SPLASH-2x go over their memory: ../kernels.toml says what each does.
 *
 *   kernels NAME MIB ROUNDS
 *
 * The same arguments always make the same work. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 88172645463325252ULL;
static uint64_t rnd(void) { state ^= state << 13; state ^= state >> 7; return state ^= state << 17; }

static void *get(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) perror("kernels"), exit(1);
    return memory;
}

static void rest(long ms) {
    struct timespec pause = {0, ms * 1000000};
    nanosleep(&pause, 0);
}

/* An array is gone over in steps, with so much work for each element. */
static double step(size_t mib, int rounds, int work) {
    size_t n = mib << 17;
    double *cell = get(n * 8), sum = 0;
    for (size_t i = 0; i < n; i++) cell[i] = 1 + i % 97;
    while (rounds--)
        for (size_t i = 0; i < n; i++)
            for (int k = 0; k < work; k++) sum += log(cell[i] + k) * exp(-cell[i]);
    return sum;
}

static double options(size_t mib, int rounds) { return step(mib, rounds, 1); }

static double steps(size_t mib, int rounds) { return step(mib, rounds, 5); }

static double slowsteps(size_t mib, int rounds) { return step(mib, rounds, 10); }

static double multigrid(size_t mib, int rounds) {
    double *level[5];
    size_t n[5];
    for (int l = 0; l < 5; l++) {
        n[l] = (mib << 17) * 3 / 4 >> 2 * l;
        level[l] = get(n[l] * 8);
        for (size_t i = 0; i < n[l]; i++) level[l][i] = i % 13;
    }
    while (rounds--)
        for (int l = 0; l < 5; l++)
            for (int turn = 0; turn < 1 << 2 * l; turn++)
                for (size_t i = 1; i + 1 < n[l]; i++)
                    level[l][i] = 0.3 * (level[l][i - 1] + level[l][i] + level[l][i + 1]) + sqrt(i);
    return level[0][7] + level[4][7];
}

static double anneal(size_t mib, int rounds) {
    size_t n = mib << 14;
    struct element { uint64_t at, net[7]; } *element = get(n * sizeof *element);
    uint64_t cost = 0;
    for (size_t i = 0; i < n; i++) {
        element[i].at = rnd();
        for (int k = 0; k < 7; k++) element[i].net[k] = rnd() % n;
    }
    for (int round = 0; round < rounds; round++) {
        size_t choice = n * (1 - 0.8 * round / rounds) + 1;
        for (int i = 0; i < 100000; i++) {
            struct element *one = &element[rnd() % choice], *other = &element[rnd() % choice];
            for (int k = 0; k < 2; k++) cost += element[one->net[k]].at > element[other->net[k]].at;
            uint64_t at = one->at;
            one->at = other->at;
            other->at = at;
        }
    }
    return cost;
}

/* A round goes over what is left of the matrix, as often as a block has columns by 32. */
static double lu(size_t mib, int rounds) {
    enum { SIDE = 256 };
    int blocks = sqrt(mib * 131072.0) / SIDE;
    double (*a)[SIDE * SIDE] = get(sizeof *a * blocks * blocks);
    for (int i = 0; i < blocks * blocks; i++)
        for (int j = 0; j < SIDE * SIDE; j++) a[i][j] = j % 7 + 1;
    for (int k = 0; k < blocks && k < rounds; k++)
        for (int part = 0; part < SIDE; part += 32)
            for (int i = k; i < blocks; i++)
                for (int j = k; j < blocks; j++) {
                    double *x = a[i * blocks + j], *left = a[i * blocks + k], *up = a[k * blocks + j];
                    for (int row = 0; row < SIDE; row++)
                        for (int p = part; p < part + 32; p++)
                            for (int column = 0; column < SIDE; column++)
                                x[row * SIDE + column] -= 1e-9 * left[row * SIDE + p] * up[p * SIDE + column];
                }
    return a[blocks * blocks - 1][3];
}

static double radix(size_t mib, int rounds) {
    size_t n = mib << 17;
    uint32_t *from = get(n * 4), *to = get(n * 4);
    for (size_t i = 0; i < n; i++) from[i] = rnd(), to[i] = 0;
    for (int round = 0; round < rounds; round++) {
        int shift = round % 3 * 11;
        size_t place[2048] = {0}, at = 0;
        for (size_t i = 0; i < n; i++) place[from[i] >> shift & 2047]++;
        for (int d = 0; d < 2048; d++) {
            size_t count = place[d];
            place[d] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++) to[place[from[i] >> shift & 2047]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    return from[n / 2];
}

static double pipeline(size_t mib, int rounds) {
    enum { PIECES = 256, KEPT = 4096 };
    static char *piece[PIECES], *kept[KEPT];
    size_t size = (mib << 20) / PIECES / 2, nkept = 0;
    double sum = 0;
    for (int round = 0; round < rounds; round++) {
        char **now = &piece[round % PIECES], *before = piece[(round + PIECES - 8) % PIECES];
        free(*now);
        *now = get(size);
        memset(*now, round, size);
        if (before)
            for (size_t i = 0; i < size; i += 8) sum += before[i] * 0.5;
        for (int turn = 0; turn < 6; turn++)
            for (size_t i = 0; i < size; i++) (*now)[i] = (*now)[i] * 3 + turn;
        if (round % 4 == 0 && nkept < mib / 2 && nkept < KEPT) {
            kept[nkept] = get(1 << 20);
            memset(kept[nkept++], 1, 1 << 20);
        }
        rest(2);
    }
    return sum;
}

static double tree(size_t mib, int rounds) {
    struct node { uint64_t key; uint32_t child[2]; double mass, pad[5]; } *node;
    size_t bodies = (mib << 20) / 4 / 64, room = bodies * 3;
    struct body { double x[8]; } *body = get(bodies * sizeof *body);
    node = get(room * sizeof *node);
    double sum = 0;
    for (size_t i = 0; i < bodies; i++) body[i] = (struct body){{rnd() % 1000}};
    while (rounds--) {
        size_t used = 1;
        memset(node, 0, sizeof *node);
        for (size_t i = 0; i < bodies; i++) {
            uint64_t key = rnd();
            size_t at = 0;
            for (int bit = 0; bit < 40; bit++) {
                uint32_t *next = &node[at].child[key >> bit & 1];
                if (!*next) {
                    if (used + 1 >= room) break;
                    memset(&node[used], 0, sizeof *node);
                    node[used].mass = body[i].x[0];
                    *next = used++;
                    break;
                }
                at = *next;
            }
        }
        for (size_t i = 0; i < bodies; i++) {
            uint64_t key = rnd();
            size_t at = 0;
            for (int bit = 0; bit < 40 && node[at].child[key >> bit & 1]; bit++)
                sum += node[at = node[at].child[key >> bit & 1]].mass;
            body[i].x[1] = sum;
        }
    }
    return sum;
}

static double scene(size_t mib, int rounds) {
    size_t n = mib << 14;
    struct triangle { double x[8]; } *t = get(n * sizeof *t);
    double sum = 0;
    for (size_t i = 0; i < n; i++) t[i].x[0] = i % 31;
    for (int round = 0; round < rounds; round++) {
        size_t view = round / 80 * 2654435761u % n;
        for (int ray = 0; ray < 200000; ray++) {
            double u = (rnd() % 1000000 + 1) / 1e6, v = (rnd() % 1000000 + 1) / 1e6;
            sum += t[(view + (size_t)(n * 0.3 * u * u * v)) % n].x[0] + t[(size_t)(n * pow(u, 12)) % n].x[1];
        }
        rest(20);
    }
    return sum;
}

/* Points of 128 coordinates: some come, and are compared with sixty of them in turn. */
static double cluster(size_t mib, int rounds) {
    const size_t dimensions = 128, n = (mib << 18) / dimensions;
    float *point = get(n * dimensions * sizeof *point), sum = 0;
    while (rounds--) {
        for (size_t i = 0; i < n * dimensions; i++) point[i] = rnd() % 1024;
        for (int centre = 0; centre < 60; centre++) {
            const float *other = point + rnd() % n * dimensions;
            for (size_t i = 0; i < n; i++)
                for (size_t d = 0; d < dimensions; d++)
                    sum += fabsf(point[i * dimensions + d] - other[d]);
        }
    }
    return sum;
}

/* Rows are worked on between transpositions from one square to the other. */
static double transform(size_t mib, int rounds) {
    size_t side = 16;
    while (side * side * 4 * 16 <= mib << 20) side *= 2;
    double *from = get(side * side * 8), *to = get(side * side * 8);
    for (size_t i = 0; i < side * side; i++) from[i] = i % 255;
    while (rounds--) {
        for (size_t row = 0; row < side; row += 16)
            for (size_t column = 0; column < side; column += 16)
                for (size_t i = row; i < row + 16; i++)
                    for (size_t j = column; j < column + 16; j++) to[j * side + i] = from[i * side + j];
        for (size_t row = 0; row < side; row++)
            for (size_t half = 1; half < side; half *= 2)
                for (size_t j = 0; j + half < side; j++)
                    to[row * side + j] = 0.7 * (to[row * side + j] + to[row * side + j + half]);
        double *swap = from;
        from = to, to = swap;
    }
    return from[side];
}

int main(int argc, char **argv) {
    const struct { const char *name; double (*run)(size_t, int); } kernels[] = {
        {"options", options}, {"steps", steps}, {"slowsteps", slowsteps},
        {"multigrid", multigrid}, {"anneal", anneal}, {"lu", lu},
        {"radix", radix}, {"pipeline", pipeline}, {"tree", tree}, {"scene", scene},
        {"cluster", cluster}, {"transform", transform}};
    if (argc != 4) return fprintf(stderr, "usage: kernels NAME MIB ROUNDS\n"), 2;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, argv[1]))
            return printf("%g\n", kernels[i].run(atol(argv[2]), atoi(argv[3]))), 0;
    return fprintf(stderr, "kernels: there is no '%s'\n", argv[1]), 2;
}
