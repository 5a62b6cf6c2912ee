! SPDX-License-Identifier: Apache-2.0 OR MIT
! Fortran with OpenMP in an image: formatted output, a parallel loop, units closed at the end.
program sum
  implicit none
  integer :: i
  real(8) :: total
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, 1000
    total = total + sqrt(real(i, 8))
  end do
  print '(A,F12.4)', 'sum ', total
end program
