! SPDX-License-Identifier: Apache-2.0 OR MIT
!
! Pi as the area under 4 / (1 + x*x) between 0 and 1, by the midpoint rule, shared among the threads.
program pi
    use omp_lib
    use iso_fortran_env, only: int64, real64
    implicit none
    integer(int64), parameter :: intervals = 2000000_int64
    integer(int64) :: i
    real(real64) :: x, total, width
    real(real64), parameter :: exact = 3.141592653589793_real64

    width = 1.0_real64 / real(intervals, real64)
    total = 0.0_real64
    !$omp parallel do private(x) reduction(+:total) schedule(static)
    do i = 1, intervals
        x = (real(i, real64) - 0.5_real64) * width
        total = total + 4.0_real64 / (1.0_real64 + x * x)
    end do
    !$omp end parallel do

    print '(a, i0)', 'threads  ', omp_get_max_threads()
    print '(a, f12.10)', 'pi       ', total * width
    print '(a, es8.1)', 'error    ', abs(total * width - exact)
end program pi
