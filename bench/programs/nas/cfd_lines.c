// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Batches of grid lines, one in each lane of a vector: copied from and to the fields. The copies turn the
// lines of every axis into one form and bring what a solve reads and writes many times into a small piece of
// memory.
//
// Batches cover the boundary and the padding too, where the corrections are zero and remain so.

#include "cfd.h"

#include <string.h>

static int field_component(enum cfd_axis axis, int component) {
    bool is_vector = component >= CFD_MOMENTUM && component < CFD_MOMENTUM + CFD_AXES;
    return is_vector ? CFD_MOMENTUM + ((int)axis + component - CFD_MOMENTUM) % CFD_AXES : component;
}

// Where the point at `position` of a line along y or z has its rows.
static int plane_of(const struct cfd_batch *batch, int position) {
    return batch->axis == CFD_Y ? batch->plane : position;
}

static int row_of(const struct cfd_batch *batch, int position) {
    return batch->axis == CFD_Y ? position : batch->plane;
}

static int lanes_used(const struct cfd_batch *batch) {
    int left = cfd.points - batch->first;
    return left < CFD_LANES ? left : CFD_LANES;
}

// A lane without a line of its own repeats the last line.
static void load_along_x(const struct cfd_batch *batch, const cfd_field field, cfd_point *points) {
    int used = lanes_used(batch);
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        const double *row[CFD_LANES];
        for (int lane = 0; lane < CFD_LANES; lane++) {
            int y = batch->first + (lane < used ? lane : used - 1);
            row[lane] = field[batch->plane][y][field_component(CFD_X, m)];
        }
        for (int i = 0; i < cfd.points; i++) {
            for (int lane = 0; lane < CFD_LANES; lane++) {
                points[i][m][lane] = row[lane][i];
            }
        }
    }
}

void cfd_load_lines(const struct cfd_batch *batch, const cfd_field field, cfd_point *points) {
    if (batch->axis == CFD_X) {
        load_along_x(batch, field, points);
        return;
    }
    for (int position = 0; position < cfd.points; position++) {
        int k = plane_of(batch, position), j = row_of(batch, position);
        for (int m = 0; m < CFD_COMPONENTS; m++) {
            const double *row = field[k][j][field_component(batch->axis, m)];
            memcpy(&points[position][m], row + batch->first, sizeof(cfd_lanes));
        }
    }
}

static void store_along_x(const struct cfd_batch *batch, cfd_field field, const cfd_point *points) {
    int used = lanes_used(batch);
    for (int lane = 0; lane < used; lane++) {
        for (int m = 0; m < CFD_COMPONENTS; m++) {
            double *row = field[batch->plane][batch->first + lane][field_component(CFD_X, m)];
            for (int i = 0; i < cfd.points; i++) {
                row[i] = points[i][m][lane];
            }
        }
    }
}

void cfd_store_lines(const struct cfd_batch *batch, cfd_field field, const cfd_point *points) {
    if (batch->axis == CFD_X) {
        store_along_x(batch, field, points);
        return;
    }
    for (int position = 0; position < cfd.points; position++) {
        int k = plane_of(batch, position), j = row_of(batch, position);
        for (int m = 0; m < CFD_COMPONENTS; m++) {
            double *row = field[k][j][field_component(batch->axis, m)];
            memcpy(row + batch->first, &points[position][m], sizeof(cfd_lanes));
        }
    }
}

// Not for lines along x.
void cfd_add_lines(const struct cfd_batch *batch, cfd_field field, const cfd_point *points) {
    for (int position = 0; position < cfd.points; position++) {
        int k = plane_of(batch, position), j = row_of(batch, position);
        for (int m = 0; m < CFD_COMPONENTS; m++) {
            double *row = field[k][j][field_component(batch->axis, m)];
            cfd_lanes sum;
            memcpy(&sum, row + batch->first, sizeof sum);
            sum += points[position][m];
            memcpy(row + batch->first, &sum, sizeof sum);
        }
    }
}

static void solve_plane(void (*solve)(const struct cfd_batch *batch), enum cfd_axis axis, int plane) {
    for (int first = 0; first < cfd.points; first += CFD_LANES) {
        solve(&(struct cfd_batch){.axis = axis, .plane = plane, .first = first});
    }
}

// Lines along x and y stay within a plane of constant z: a thread solves both for a plane that it has in its
// cache.
void cfd_solve_axes(void (*solve)(const struct cfd_batch *batch)) {
#pragma omp for schedule(static)
    for (int k = CFD_FIRST_INNER; k <= cfd.last_inner; k++) {
        solve_plane(solve, CFD_X, k);
        solve_plane(solve, CFD_Y, k);
    }
#pragma omp for schedule(static)
    for (int j = CFD_FIRST_INNER; j <= cfd.last_inner; j++) {
        solve_plane(solve, CFD_Z, j);
    }
}
