! SPDX-License-Identifier: Apache-2.0 OR MIT
!
! The OpenMP program set in Fortran: schedules, reductions, tasks with dependences, sections, critical, atomic,
! locks, nested teams, threadprivate data, workshare, and the input and output of the language.
module shared_data
    implicit none
    integer, save :: own = 5
    !$omp threadprivate(own)
end module shared_data

program openmp_set
    use omp_lib
    use shared_data
    use iso_fortran_env, only: int64, real64
    implicit none

    call loops()
    call reductions()
    call tasks()
    call synchronisation()
    call nested()
    call private_data()
    call arrays()
    call files()

contains

    subroutine require(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        if (.not. condition) then
            write (0, '(2a)') 'not true: ', what
            stop 99
        end if
    end subroutine require

    subroutine loops()
        integer, parameter :: n = 1001
        integer :: visits(n), i, j, last
        visits = 0
        !$omp parallel do schedule(static, 3)
        do i = 1, n
            visits(i) = visits(i) + 1
        end do
        !$omp parallel do schedule(dynamic, 5)
        do i = 1, n
            visits(i) = visits(i) + 1
        end do
        !$omp parallel do schedule(guided)
        do i = n, 1, -1
            visits(i) = visits(i) + 1
        end do
        !$omp parallel do schedule(runtime)
        do i = 1, n, 2
            visits(i) = visits(i) + 1
        end do
        !$omp parallel do collapse(2) lastprivate(last)
        do i = 1, 10
            do j = 1, 10
                last = i * 100 + j
            end do
        end do
        print '(a, i0, a, i0)', 'loops ', sum(visits), ' last ', last
    end subroutine loops

    subroutine reductions()
        integer :: i, low, high, bits
        integer(int64) :: total
        real(real64) :: vector(4)
        logical :: all_small
        total = 0
        low = huge(low)
        high = -huge(high)
        bits = 0
        vector = 0.0_real64
        all_small = .true.
        !$omp parallel do reduction(+:total, vector) reduction(min:low) reduction(max:high) &
        !$omp reduction(ieor:bits) reduction(.and.:all_small)
        do i = 1, 3000
            total = total + int(i, int64) * i
            low = min(low, mod(i * 17, 501))
            high = max(high, mod(i * 17, 501))
            bits = ieor(bits, i)
            vector(mod(i, 4) + 1) = vector(mod(i, 4) + 1) + 0.5_real64
            all_small = all_small .and. i < 5000
        end do
        print '(a, i0, 3(1x, i0), 4(1x, f6.1), 1x, l1)', 'reductions ', total, low, high, bits, vector, all_small
    end subroutine reductions

    recursive function fibonacci(n) result(value)
        integer, intent(in) :: n
        integer :: value, left, right
        if (n < 2) then
            value = n
            return
        end if
        !$omp task shared(left) if(n > 7)
        left = fibonacci(n - 1)
        !$omp end task
        !$omp task shared(right) if(n > 7)
        right = fibonacci(n - 2)
        !$omp end task
        !$omp taskwait
        value = left + right
    end function fibonacci

    subroutine tasks()
        integer :: result, chain, i
        chain = 1
        !$omp parallel
        !$omp single
        result = fibonacci(15)
        do i = 1, 30
            !$omp task depend(inout: chain) firstprivate(i) shared(chain)
            chain = mod(chain * 13 + i, 1009)
            !$omp end task
        end do
        !$omp end single
        !$omp end parallel
        print '(a, i0, 1x, i0)', 'tasks ', result, chain
    end subroutine tasks

    subroutine synchronisation()
        integer(omp_lock_kind) :: lock
        integer :: by_lock, by_critical, by_atomic, parts(3), i, team
        by_lock = 0
        by_critical = 0
        by_atomic = 0
        parts = 0
        team = 0
        call omp_init_lock(lock)
        !$omp parallel private(i)
        !$omp single
        team = omp_get_num_threads()
        !$omp end single
        do i = 1, 200
            call omp_set_lock(lock)
            by_lock = by_lock + 1
            call omp_unset_lock(lock)
            !$omp critical
            by_critical = by_critical + 1
            !$omp end critical
            !$omp atomic
            by_atomic = by_atomic + 1
        end do
        !$omp sections
        !$omp section
        parts(1) = 1
        !$omp section
        parts(2) = 2
        !$omp section
        parts(3) = 3
        !$omp end sections
        !$omp end parallel
        call omp_destroy_lock(lock)
        call require(by_lock == 200 * team, 'the lock excludes')
        call require(by_critical == 200 * team, 'critical excludes')
        call require(by_atomic == 200 * team, 'atomic counts')
        print '(a, 3(1x, i0))', 'sections', parts
    end subroutine synchronisation

    subroutine nested()
        integer :: inner
        inner = 0
        call omp_set_max_active_levels(2)
        !$omp parallel num_threads(2)
        !$omp parallel num_threads(3)
        call require(omp_get_level() == 2, 'two levels')
        !$omp atomic
        inner = inner + 1
        !$omp end parallel
        !$omp end parallel
        print '(a, i0)', 'nested ', inner
    end subroutine nested

    subroutine private_data()
        integer :: wrong
        wrong = 0
        own = 50
        !$omp parallel copyin(own)
        own = own + omp_get_thread_num()
        !$omp end parallel
        !$omp parallel reduction(+:wrong)
        if (own /= 50 + omp_get_thread_num()) wrong = wrong + 1
        !$omp end parallel
        print '(a, i0)', 'threadprivate wrong ', wrong
    end subroutine private_data

    subroutine arrays()
        real(real64) :: a(60, 60), b(60, 60), c(60, 60)
        integer :: i, j
        do j = 1, 60
            do i = 1, 60
                a(i, j) = mod(i * j, 7)
                b(i, j) = mod(i + j, 5)
            end do
        end do
        !$omp parallel workshare
        c = matmul(a, b)
        where (c > 100.0_real64) c = c - 1.0_real64
        !$omp end parallel workshare
        print '(a, f10.1)', 'arrays ', sum(c)
    end subroutine arrays

    subroutine files()
        integer :: unit, i, value, total, status
        open (newunit=unit, file='fortran-set.tmp', status='replace', action='write', form='formatted')
        do i = 1, 500
            write (unit, '(i8)') i * 2
        end do
        close (unit)
        total = 0
        open (newunit=unit, file='fortran-set.tmp', status='old', action='read')
        do
            read (unit, *, iostat=status) value
            if (status /= 0) exit
            total = total + value
        end do
        close (unit, status='delete')
        print '(a, i0)', 'files ', total
        write (0, '(a)') 'a line on standard error'
    end subroutine files

end program openmp_set
