// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// NAS kernel FT, "Fourier transform": the heat equation on a periodic box by three-dimensional FFTs. It
// measures arithmetic, and long strides through memory.
//
// The initial state U is random. V is its forward transform. The state at time t is the inverse transform of
// V exp(-4 a pi^2 |k|^2 t), where a = 1e-6 and k is the vector of wave numbers. Of each of these states, the
// sum of 1024 scattered points is the result.
//
// A transform along one direction takes BATCH lines at once: it copies them into a buffer in which the
// numbers of all lines with the same index are next to each other, real parts apart from imaginary ones. So
// whole cache lines move between arrays and buffer whatever the direction, and the innermost loops are long,
// have no strides and need no shuffling of vectors. In x and y that is done plane by plane, while the plane
// is cached.
//
// Class C needs -mcmodel=large (for gcc, medium is enough): its arrays take 4.3 GB, and code of the usual
// model reaches no further than 2 GiB.
//
// Timed: everything, the initial state and the tables too. Only memory is touched before that.

#include "nas.h"

#include <math.h>

enum {
    SIDE_X = NAS_BY_CLASS(64, 128, 256, 512, 512),
    SIDE_Y = NAS_BY_CLASS(64, 128, 256, 256, 512),
    SIDE_Z = NAS_BY_CLASS(64, 32, 128, 256, 512),
    SIDE_MAX = SIDE_X, // of all classes
    TIMES = NAS_BY_CLASS(6, 6, 6, 20, 20),
    BATCH = 16, // lines: 4 cache lines of complex numbers
    PITCH =
        SIDE_X + 4, // of rows: were it a power of two, columns would compete for the same places in caches
    TILE = 4,       // complex numbers in a cache line
    PROBES = 1024,
};

static const double pi = 3.14159265358979323846;
static const double diffusion = 1e-6;
static const double tolerance = 1e-12;

struct complex {
    double re;
    double im;
};

#if defined NAS_CLASS_S
static const struct complex published_sums[TIMES] = {
    {554.6087004964, 484.5363331978}, {554.6385409189, 486.5304269511}, {554.6148406171, 488.3910722336},
    {554.5423607415, 490.1273169046}, {554.4255039624, 491.7475857993}, {554.2683411902, 493.2597244941}};
#elif defined NAS_CLASS_W
static const struct complex published_sums[TIMES] = {
    {567.3612178944, 529.3246849175}, {563.1436885271, 528.2149986629}, {559.4024089970, 527.0996558037},
    {556.0698047020, 526.0027904925}, {553.0898991250, 524.9400845633}, {550.4159734538, 523.9212247086}};
#elif defined NAS_CLASS_A
static const struct complex published_sums[TIMES] = {
    {504.6735008193, 511.4047905510}, {505.9412319734, 509.8809666433}, {506.9376896287, 509.8144042213},
    {507.7892868474, 510.1336130759}, {508.5233095391, 510.4914655194}, {509.1487099959, 510.7917842803}};
#elif defined NAS_CLASS_B
static const struct complex published_sums[TIMES] = {
    {517.7643571579, 507.7803458597}, {515.4521291263, 508.8249431599}, {514.6409228649, 509.6208912659},
    {514.2378756213, 510.1023387619}, {513.9626667737, 510.3976610617}, {513.7423460082, 510.5948019802},
    {513.5547056878, 510.7404165783}, {513.3910925466, 510.8576573661}, {513.2470705390, 510.9577278523},
    {513.1197729984, 511.0460304483}, {513.0070319283, 511.1252433800}, {512.9070537032, 511.1968077718},
    {512.8182883502, 511.2616233064}, {512.7393733383, 511.3203605551}, {512.6691062020, 511.3735928093},
    {512.6064276004, 511.4218460548}, {512.5504076570, 511.4656139760}, {512.5002331720, 511.5053595966},
    {512.4551951846, 511.5415130407}, {512.4146770029, 511.5744692211}};
#else
static const struct complex published_sums[TIMES] = {
    {519.5078707457, 514.9019699238}, {515.5422171134, 512.7578201997}, {514.4678022222, 512.2251847514},
    {514.0150594328, 512.1090289018}, {513.7550426810, 512.1143685824}, {513.5811056728, 512.1496764568},
    {513.4569343165, 512.1870921893}, {513.3651975661, 512.2193250322}, {513.2955192805, 512.2454735794},
    {513.2410471738, 512.2663649603}, {513.1971141679, 512.2830879827}, {513.1605205716, 512.2965869718},
    {513.1290734194, 512.3075927445}, {513.1012720314, 512.3166486553}, {513.0760908195, 512.3241541685},
    {513.0528295923, 512.3304037599}, {513.0310107773, 512.3356167976}, {513.0103090133, 512.3399592211},
    {512.9905029333, 512.3435588985}, {512.9714421109, 512.3465164008}};
#endif

static struct complex state[SIDE_Z][SIDE_Y][PITCH];    // U, then the states at times t
static struct complex spectrum[SIDE_Z][SIDE_Y][PITCH]; // V

static struct complex roots[SIDE_MAX]; // exp(-2 pi i k / SIDE_MAX)

// The exponential of time t is a product of one factor for each direction.
static double decay_x[SIDE_X], decay_y[SIDE_Y], decay_z[SIDE_Z];

// Lines being transformed: number n of line l is at [n * BATCH + l].
struct lines {
    _Alignas(64) double re[SIDE_MAX * BATCH];
    _Alignas(64) double im[SIDE_MAX * BATCH];
};

// The lines of a thread, and where a pass of their transform puts its results.
static struct lines lines, other;
#pragma omp threadprivate(lines, other)

enum direction { FORWARD, INVERSE };

// Where numbers are copied to and from: an inverse transform is a forward one with real and imaginary parts
// swapped.
struct view {
    double *restrict re;
    double *restrict im;
};

static inline struct view view_of(struct lines *lines, enum direction direction) {
    return direction == FORWARD ? (struct view){lines->re, lines->im} : (struct view){lines->im, lines->re};
}

static struct complex multiply(struct complex a, struct complex b) {
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// A radix-4 butterfly of `width` numbers at once: from quarters of the input, `quarter` apart from `from` on,
// to neighbouring groups of the output from `to` on, multiplied by the powers of w.
static inline void butterfly_4(const struct lines *restrict in, size_t from, size_t quarter,
                               struct lines *restrict out, size_t to, size_t width, struct complex w) {
    struct complex w2 = multiply(w, w), w3 = multiply(w2, w);
    size_t half = 2 * quarter, last = 3 * quarter;
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        size_t n = from + i, m = to + i;
        double even_re = in->re[n] + in->re[n + half], even_im = in->im[n] + in->im[n + half];
        double even_diff_re = in->re[n] - in->re[n + half], even_diff_im = in->im[n] - in->im[n + half];
        double odd_re = in->re[n + quarter] + in->re[n + last],
               odd_im = in->im[n + quarter] + in->im[n + last];
        // times -i
        double odd_diff_re = in->im[n + quarter] - in->im[n + last];
        double odd_diff_im = in->re[n + last] - in->re[n + quarter];
        double re1 = even_diff_re + odd_diff_re, im1 = even_diff_im + odd_diff_im;
        double re2 = even_re - odd_re, im2 = even_im - odd_im;
        double re3 = even_diff_re - odd_diff_re, im3 = even_diff_im - odd_diff_im;
        out->re[m] = even_re + odd_re;
        out->im[m] = even_im + odd_im;
        out->re[m + width] = re1 * w.re - im1 * w.im;
        out->im[m + width] = re1 * w.im + im1 * w.re;
        out->re[m + 2 * width] = re2 * w2.re - im2 * w2.im;
        out->im[m + 2 * width] = re2 * w2.im + im2 * w2.re;
        out->re[m + 3 * width] = re3 * w3.re - im3 * w3.im;
        out->im[m + 3 * width] = re3 * w3.im + im3 * w3.re;
    }
}

static inline void butterfly_2(const struct lines *restrict in, struct lines *restrict out, size_t width) {
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        double re = in->re[i + width], im = in->im[i + width];
        out->re[i] = in->re[i] + re;
        out->im[i] = in->im[i] + im;
        out->re[i + width] = in->re[i] - re;
        out->im[i + width] = in->im[i] - im;
    }
}

static inline void swap_lines(struct lines **a, struct lines **b) {
    struct lines *kept = *a;
    *a = *b;
    *b = kept;
}

// Transforms the thread's lines of `length` numbers by Stockham's method, which needs no reordering by
// reversed bits: each pass leaves four times shorter transforms, interleaved four times wider. The result is
// in the return value, one of both buffers.
static struct lines *transform_lines(size_t length) {
    struct lines *from = &lines, *to = &other;
    size_t width = BATCH;
    for (; length >= 4; length /= 4, width *= 4) {
        size_t quarter = length / 4;
        for (size_t k = 0; k < quarter; k++) {
            butterfly_4(from, k * width, quarter * width, to, 4 * k * width, width,
                        roots[k * (SIDE_MAX / length)]);
        }
        swap_lines(&from, &to);
    }
    if (length == 2) { // the last pass, whose only root is 1
        butterfly_2(from, to, width);
        swap_lines(&from, &to);
    }
    return from;
}

// Lines along x: tile by tile, because each row's cache line must not be evicted before all of it is used.
static void transform_rows(struct complex (*rows)[PITCH], enum direction direction) {
    struct view view = view_of(&lines, direction);
    for (size_t tile = 0; tile < SIDE_X; tile += TILE) {
        for (size_t l = 0; l < BATCH; l++) {
            for (size_t n = tile; n < tile + TILE; n++) {
                view.re[n * BATCH + l] = rows[l][n].re;
                view.im[n * BATCH + l] = rows[l][n].im;
            }
        }
    }
    struct view result = view_of(transform_lines(SIDE_X), direction);
    for (size_t tile = 0; tile < SIDE_X; tile += TILE) {
        for (size_t l = 0; l < BATCH; l++) {
            for (size_t n = tile; n < tile + TILE; n++) {
                rows[l][n] = (struct complex){result.re[n * BATCH + l], result.im[n * BATCH + l]};
            }
        }
    }
}

// Number n of all lines, from neighbouring places in memory and back.
static inline void load_numbers(struct view to, size_t n, const struct complex *from) {
#pragma omp simd
    for (size_t l = 0; l < BATCH; l++) {
        to.re[n * BATCH + l] = from[l].re;
        to.im[n * BATCH + l] = from[l].im;
    }
}

static inline void store_numbers(struct view from, size_t n, struct complex *to) {
#pragma omp simd
    for (size_t l = 0; l < BATCH; l++) {
        to[l] = (struct complex){from.re[n * BATCH + l], from.im[n * BATCH + l]};
    }
}

// Transforms a plane of the state along x and y.
static void transform_plane(struct complex (*plane)[PITCH], enum direction direction) {
    for (size_t y = 0; y < SIDE_Y; y += BATCH) {
        transform_rows(&plane[y], direction);
    }
    struct view view = view_of(&lines, direction);
    for (size_t x = 0; x < SIDE_X; x += BATCH) {
        for (size_t y = 0; y < SIDE_Y; y++) {
            load_numbers(view, y, &plane[y][x]);
        }
        struct view result = view_of(transform_lines(SIDE_Y), direction);
        for (size_t y = 0; y < SIDE_Y; y++) {
            store_numbers(result, y, &plane[y][x]);
        }
    }
}

// What follows is called by all threads of a team.

static void touch_memory(void) {
#pragma omp for schedule(static)
    for (int z = 0; z < SIDE_Z; z++) {
        memset(state[z], 0, sizeof state[z]);
        memset(spectrum[z], 0, sizeof spectrum[z]);
    }
}

static void compute_roots(void) {
#pragma omp for schedule(static)
    for (int k = 0; k < SIDE_MAX; k++) {
        double angle = -2.0 * pi * k / SIDE_MAX;
        roots[k] = (struct complex){cos(angle), sin(angle)};
    }
}

// Two random numbers for each point, x being the innermost direction.
static void generate_state(void) {
#pragma omp for collapse(2) schedule(static)
    for (int z = 0; z < SIDE_Z; z++) {
        for (int y = 0; y < SIDE_Y; y++) {
            uint64_t before = UINT64_C(2) * SIDE_X * ((uint64_t)z * SIDE_Y + (uint64_t)y);
            nas_random_fill(&state[z][y][0].re, 2 * SIDE_X, nas_random_skip(NAS_RANDOM_SEED, before));
        }
    }
}

// From the state to its spectrum.
static void transform_forward(void) {
#pragma omp for schedule(static)
    for (int z = 0; z < SIDE_Z; z++) {
        transform_plane(state[z], FORWARD);
    }
#pragma omp for collapse(2) schedule(static)
    for (int y = 0; y < SIDE_Y; y++) {
        for (int x = 0; x < SIDE_X; x += BATCH) {
            for (size_t z = 0; z < SIDE_Z; z++) {
                load_numbers(view_of(&lines, FORWARD), z, &state[z][y][x]);
            }
            struct view result = view_of(transform_lines(SIDE_Z), FORWARD);
            for (size_t z = 0; z < SIDE_Z; z++) {
                store_numbers(result, z, &spectrum[z][y][x]);
            }
        }
    }
}

// The factors of one direction at a time; wave numbers of the upper half are negative. `scale` goes into all.
static void compute_decay(double *decay, int side, int time, double scale) {
#pragma omp for schedule(static)
    for (int n = 0; n < side; n++) {
        int wave = n < side / 2 ? n : n - side;
        decay[n] = scale * exp(-4.0 * diffusion * pi * pi * wave * wave * time);
    }
}

// From the spectrum to the state at a time.
static void transform_backward(int time) {
    compute_decay(decay_x, SIDE_X, time, 1.0);
    compute_decay(decay_y, SIDE_Y, time, 1.0);
    compute_decay(decay_z, SIDE_Z, time, 1.0 / ((double)SIDE_X * SIDE_Y * SIDE_Z));
#pragma omp for collapse(2) schedule(static)
    for (int y = 0; y < SIDE_Y; y++) {
        for (int x = 0; x < SIDE_X; x += BATCH) {
            struct view view = view_of(&lines, INVERSE);
            for (size_t z = 0; z < SIDE_Z; z++) {
                double decay_yz = decay_y[y] * decay_z[z];
#pragma omp simd
                for (size_t l = 0; l < BATCH; l++) {
                    struct complex number = spectrum[z][y][x + l];
                    double decay = decay_yz * decay_x[x + l];
                    view.re[z * BATCH + l] = decay * number.re;
                    view.im[z * BATCH + l] = decay * number.im;
                }
            }
            struct view result = view_of(transform_lines(SIDE_Z), INVERSE);
            for (size_t z = 0; z < SIDE_Z; z++) {
                store_numbers(result, z, &state[z][y][x]);
            }
        }
    }
#pragma omp for schedule(static)
    for (int z = 0; z < SIDE_Z; z++) {
        transform_plane(state[z], INVERSE);
    }
}

static double sums_re, sums_im;
static struct complex sums[TIMES];

static void sum_probes(int time) {
#pragma omp for schedule(static) reduction(+ : sums_re, sums_im)
    for (int i = 1; i <= PROBES; i++) {
        struct complex number = state[5 * i % SIDE_Z][3 * i % SIDE_Y][i % SIDE_X];
        sums_re += number.re;
        sums_im += number.im;
    }
#pragma omp single
    {
        sums[time - 1] = (struct complex){sums_re, sums_im};
        sums_re = sums_im = 0;
    }
}

static void run(void) {
    compute_roots();
    generate_state();
    transform_forward();
    for (int time = 1; time <= TIMES; time++) {
        transform_backward(time);
        sum_probes(time);
    }
}

int main(void) {
    char size[64];
    snprintf(size, sizeof size, "%d x %d x %d points, %d times", SIDE_X, SIDE_Y, SIDE_Z, TIMES);
    nas_print_title("FT", size);

    double seconds = 0;
#pragma omp parallel
    {
        touch_memory();
#pragma omp master
        nas_start_clock();
        run();
#pragma omp master
        seconds = nas_stop_clock();
    }

    for (int i = 0; i < TIMES; i++) {
        printf("time %2d: sum %.9f %+.9f i\n", i + 1, sums[i].re, sums[i].im);
    }
    for (int i = 0; i < TIMES; i++) {
        if (!nas_is_close(sums[i].re, published_sums[i].re, tolerance) ||
            !nas_is_close(sums[i].im, published_sums[i].im, tolerance)) {
            nas_fail("FT: published is the sum %.10f %+.10f i of time %d", published_sums[i].re,
                     published_sums[i].im, i + 1);
        }
    }
    nas_report("ft", seconds);
    return 0;
}
