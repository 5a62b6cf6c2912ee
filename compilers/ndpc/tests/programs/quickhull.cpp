// SPDX-License-Identifier: Apache-2.0 OR MIT
// quickhull.ndpc in plain C++.
#include <utility>

using Point = std::pair<double, double>;

#include "plain.h"

static std::string text(const Point &p) { return "(" + text(p.first) + ", " + text(p.second) + ")"; }
static std::string list(const std::vector<Point> &points) {
    std::string all;
    for (const Point &p : points) {
        all += (all.empty() ? "" : ", ") + text(p);
    }
    return "[" + all + "]";
}

static double cross(const Point &p, const Point &a, const Point &b) {
    return (a.first - p.first) * (b.second - p.second) - (a.second - p.second) * (b.first - p.first);
}

static void side(std::vector<Point> &hull, const std::vector<Point> &points, const Point &a, const Point &b) {
    std::vector<Point> outside;
    double most = -1e36;
    Point farthest;
    for (const Point &p : points) {
        double c = cross(p, a, b);
        if (c > 0) {
            outside.push_back(p);
        }
        if (c > most) {
            most = c;
            farthest = p;
        }
    }
    if (outside.size() < 2) {
        hull.push_back(a);
        hull.insert(hull.end(), outside.begin(), outside.end());
        return;
    }
    side(hull, outside, a, farthest);
    side(hull, outside, farthest, b);
}

static std::vector<Point> quickhull(const std::vector<Point> &points) {
    Point left = points[0], right = points[0];
    for (const Point &p : points) {
        left = p.first < left.first ? p : left;
        right = p.first > right.first ? p : right;
    }
    std::vector<Point> hull;
    side(hull, points, left, right);
    side(hull, points, right, left);
    return hull;
}

int main() {
    std::vector<Point> some = quickhull({{0, 0}, {4, 0}, {2, 1}, {4, 3}, {1, 2}, {0, 4}, {2, 5}, {3, 2}});
    std::printf("it = %s : [(float, float)]\n", list(some).c_str());
    std::vector<Point> points;
    for (int x = 0; x < 2000; x++) {
        points.push_back({x, x * x % 1009});
    }
    print(static_cast<int>(quickhull(points).size()), "int");
}
