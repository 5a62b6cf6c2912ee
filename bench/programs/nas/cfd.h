// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the three simulated CFD applications of the NAS Parallel Benchmarks share: BT, SP and LU.
//
// All three march the same discrete equations to a steady state and differ only in how they invert the
// implicit operator. They are written from the specification (RNR Technical Report RNR-94-007, chapter 3,
// "the report" below); the classes S, W and C are as of NAS-99-011.
//
// The class is chosen by one of -DNAS_CLASS_S, _W, _A, _B and _C, for all files of a program alike:
//
//   cc -std=c11 -O2 -fopenmp -DNAS_CLASS_A bt*.c cfd*.c nas.c -lm
//   OMP_NUM_THREADS=4 ./a.out
//
// A field is an array of rows: the innermost index runs along x, and the five components of a point lie in
// five neighbouring rows. So every loop along x reads whole vectors, whatever the direction of the stencil.
#ifndef HADAL_NAS_CFD_H
#define HADAL_NAS_CFD_H

#include <stdbool.h>
#include <stddef.h>

enum cfd_class { CFD_CLASS_S, CFD_CLASS_W, CFD_CLASS_A, CFD_CLASS_B, CFD_CLASS_C, CFD_CLASSES };

// CFD_SIZE: the largest grid of the class; in class W each application has one of its own.
#if defined(NAS_CLASS_S)
enum { CFD_CLASS = CFD_CLASS_S, CFD_SIZE = 12 };
#elif defined(NAS_CLASS_W)
enum { CFD_CLASS = CFD_CLASS_W, CFD_SIZE = 36 };
#elif defined(NAS_CLASS_A)
enum { CFD_CLASS = CFD_CLASS_A, CFD_SIZE = 64 };
#elif defined(NAS_CLASS_B)
enum { CFD_CLASS = CFD_CLASS_B, CFD_SIZE = 102 };
#elif defined(NAS_CLASS_C)
enum { CFD_CLASS = CFD_CLASS_C, CFD_SIZE = 162 };
#else
#error "choose a class: -DNAS_CLASS_S, _W, _A, _B or _C"
#endif

// Grid lines that BT and SP solve at once, one in each lane of a vector. Clang makes good use of vectors
// twice as wide as the processor's; gcc keeps what is in them in memory.
#if defined(__AVX__) || defined(__clang__)
enum { CFD_LANES = 4 };
#else
enum { CFD_LANES = 2 };
#endif

enum {
    CFD_COMPONENTS = 5,               // density, three momenta, energy
    CFD_ROW = (CFD_SIZE + 3) / 4 * 4, // whole vectors of any CFD_LANES
    // One row more than needed: planes a power of two apart would share their cache sets.
    CFD_ROWS = CFD_SIZE + 1,
    CFD_ALIGNMENT = 64,
};

enum cfd_axis { CFD_X, CFD_Y, CFD_Z, CFD_AXES };
enum cfd_conserved { CFD_DENSITY, CFD_MOMENTUM, CFD_ENERGY = 4 };  // CFD_MOMENTUM + axis
enum cfd_primitive { CFD_VOLUME, CFD_VELOCITY, CFD_PRESSURE = 4 }; // CFD_VELOCITY + axis; volume is 1/density
enum { CFD_FIRST_INNER = 1 };

typedef double cfd_rows[CFD_COMPONENTS][CFD_ROW]; // [component][x]
typedef cfd_rows cfd_field[CFD_SIZE][CFD_ROWS];   // [z][y]
typedef double cfd_lanes __attribute__((vector_size(CFD_LANES * sizeof(double))));

// In front of a loop of five iterations or so that must become straight code for its arrays to live in
// registers.
#ifdef __clang__
#define CFD_UNROLL _Pragma("unroll")
#else
#define CFD_UNROLL _Pragma("GCC unroll 8")
#endif

// The constants k1 to k5 of the equations, the coefficients of diffusion of each axis (the same for all five
// components), and the coefficient of the fourth-order dissipation.
#define CFD_K1 1.4
#define CFD_K2 0.4
#define CFD_K3 0.1
#define CFD_K4 1.0
#define CFD_K5 1.4
#define CFD_VISCOSITY (CFD_K3 * CFD_K4)
#define CFD_CONDUCTION (CFD_K1 * CFD_K5 * CFD_VISCOSITY)
#define CFD_NORMAL_VISCOSITY (4.0 / 3.0 * CFD_VISCOSITY)
#define CFD_DISSIPATION 0.25
static const double cfd_diffusion[CFD_AXES] = {0.75, 0.75, 1.0};

// One application in one class, with the published values of its verification.
struct cfd_case {
    int points; // along each edge of the grid
    int steps;
    double time_step;
    double residual[CFD_COMPONENTS];
    double error[CFD_COMPONENTS];
    double surface_integral; // LU only
};

// An application: its cases, and the advance of the solution by one time step, called by all threads of a
// team.
struct cfd_program {
    const char *name; // "bt"
    struct cfd_case cases[CFD_CLASSES];
    void (*advance)(void);
    bool has_surface_integral;
};

// The grid; set before the first step and constant after it.
struct cfd_grid {
    int points;
    int last_inner;   // index of the last point before the boundary
    double spacing;   // h
    double time_step; // the report's delta tau
};
extern struct cfd_grid cfd;

// A five-point stencil.
enum { CFD_FIVE = 5 };
struct cfd_stencil {
    double weight[CFD_FIVE];
    int offset[CFD_FIVE]; // 0 where the weight is 0 because there is no such point
};

// The fourth-order dissipation by the position along an axis.
extern struct cfd_stencil cfd_dissipation[CFD_SIZE];

extern cfd_field cfd_u;         // the conserved variables
extern cfd_field cfd_rhs;       // the right-hand side; the correction after the solves
extern cfd_field cfd_forcing;   // makes the exact solution a steady one
extern cfd_field cfd_primitive; // of cfd_u, by cfd_compute_rhs()

// cfd_main.c: runs, times and verifies `program`; its result is the exit status of main().
int cfd_main(const struct cfd_program *program);

// cfd.c
void cfd_set_up(const struct cfd_case *problem);
void cfd_initialize(void);
void cfd_residual_norms(double norms[CFD_COMPONENTS]);
void cfd_error_norms(double norms[CFD_COMPONENTS]);
double cfd_surface_integral(void);

// cfd_lines.c: CFD_LANES neighbouring lines along `axis`, for the solves of BT and SP. In memory of its own a
// line runs over the points of the grid, and the momenta (or velocities) stand in the order normal, next,
// next but one: that makes the equations of all three axes the same. Lines along x lie in the plane z =
// `plane` and have y from `first` on; along y, that plane and x from `first` on; along z, the plane y =
// `plane` and x from `first` on.
struct cfd_batch {
    enum cfd_axis axis;
    int plane;
    int first;
};
typedef cfd_lanes cfd_point[CFD_COMPONENTS];
void cfd_load_lines(const struct cfd_batch *batch, const cfd_field field, cfd_point *points);
void cfd_store_lines(const struct cfd_batch *batch, cfd_field field, const cfd_point *points);
void cfd_add_lines(const struct cfd_batch *batch, cfd_field field, const cfd_point *points);
// Solves one factor after the other with `solve`, which is called for every batch of an axis. All threads of
// a team call it; it ends with a barrier.
void cfd_solve_axes(void (*solve)(const struct cfd_batch *batch));

// cfd_rhs.c
void cfd_set_up_dissipation(void);
// Fills cfd_primitive and cfd_rhs. All threads of a team call it; it ends with a barrier.
void cfd_compute_rhs(void);

#endif
