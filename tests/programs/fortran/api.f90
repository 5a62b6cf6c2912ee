! SPDX-License-Identifier: Apache-2.0 OR MIT
!
! OpenMP's routines as Fortran calls them: arguments by reference, logicals, strings with lengths, integers of
! eight bytes.

program api
    use omp_lib
    implicit none
    integer :: failures = 0

    call threads()
    call wide()
    call locks()
    call strings()
    call memory()
    if (failures > 0) error stop 99
    print '(a)', 'all routines are right'

contains

    subroutine check(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        if (.not. condition) then
            print '(2a)', 'not true: ', what
            failures = failures + 1
        end if
    end subroutine

    subroutine threads()
        integer :: kind, chunk, wrong
        double precision :: before
        call omp_set_dynamic(.false.)
        call check(.not. omp_get_dynamic(), 'dynamic is off')
        call omp_set_num_threads(3)
        call check(omp_get_max_threads() == 3, 'three threads')
        call omp_set_max_active_levels(2)
        call check(omp_get_max_active_levels() == 2, 'two levels')
        call omp_set_schedule(omp_sched_guided, 5)
        call omp_get_schedule(kind, chunk)
        call check(kind == omp_sched_guided .and. chunk == 5, 'the schedule')
        call omp_set_default_device(1)
        call check(omp_get_default_device() == 1, 'the default device')
        call omp_set_default_device(0)
        wrong = 0
        !$omp parallel reduction(+ : wrong)
        if (.not. omp_in_parallel()) wrong = wrong + 1
        if (omp_get_num_threads() /= 3) wrong = wrong + 1
        if (omp_get_level() /= 1 .or. omp_get_active_level() /= 1) wrong = wrong + 1
        if (omp_get_ancestor_thread_num(1) /= omp_get_thread_num()) wrong = wrong + 1
        if (omp_get_team_size(1) /= 3 .or. omp_get_team_size(0) /= 1) wrong = wrong + 1
        !$omp end parallel
        call check(wrong == 0, 'what members see')
        before = omp_get_wtime()
        call check(omp_get_wtime() >= before .and. omp_get_wtick() > 0d0, 'the clock')
        call check(omp_is_initial_device() .and. omp_get_num_devices() == 0, 'devices')
        call check(omp_get_num_teams() == 1 .and. omp_get_team_num() == 0, 'teams')
        call check(.not. omp_in_final() .and. omp_get_max_task_priority() >= 0, 'tasks')
        call check(omp_get_num_places() >= 0 .and. omp_get_thread_limit() > 0, 'limits')
    end subroutine

    ! With -fdefault-integer-8 these are the plain calls.
    subroutine wide()
        integer(4) :: kind
        integer(8) :: chunk
        call omp_set_num_threads(4_8)
        call check(omp_get_max_threads() == 4, 'four threads')
        call omp_set_dynamic(.false._8)
        call omp_set_max_active_levels(3_8)
        call check(omp_get_max_active_levels() == 3, 'three levels')
        call omp_set_schedule(omp_sched_dynamic, 7_8)
        call omp_get_schedule(kind, chunk)
        call check(kind == omp_sched_dynamic .and. chunk == 7_8, 'the wide schedule')
        call check(omp_get_team_size(0_8) == 1, 'the wide team size')
        call check(omp_get_ancestor_thread_num(0_8) == 0, 'the wide ancestor')
        call omp_set_num_teams(2_8)
        call check(omp_get_max_teams() == 2, 'two teams')
        call omp_set_teams_thread_limit(6_8)
        call check(omp_get_teams_thread_limit() == 6, 'the wide limit')
    end subroutine

    subroutine locks()
        integer(omp_lock_kind) :: lock
        integer(omp_nest_lock_kind) :: nest
        integer :: count, turn
        call omp_init_lock(lock)
        call omp_init_nest_lock(nest)
        count = 0
        !$omp parallel do num_threads(4)
        do turn = 1, 2000
            call omp_set_lock(lock)
            call omp_set_nest_lock(nest)
            call omp_set_nest_lock(nest)
            count = count + 1
            call omp_unset_nest_lock(nest)
            call omp_unset_nest_lock(nest)
            call omp_unset_lock(lock)
        end do
        call check(count == 2000, 'locks exclude')
        call check(omp_test_lock(lock), 'the lock is free')
        call check(.not. omp_test_lock(lock), 'the lock is held')
        call check(omp_test_nest_lock(nest) == 1, 'nested once')
        call check(omp_test_nest_lock(nest) == 2, 'nested twice')
        call omp_unset_lock(lock)
        call omp_unset_nest_lock(nest)
        call omp_unset_nest_lock(nest)
        call omp_destroy_lock(lock)
        call omp_destroy_nest_lock(nest)
    end subroutine

    subroutine strings()
        character(20) :: buffer
        character(3) :: small
        integer :: length
        call omp_set_affinity_format('n %n of %.2N')
        length = omp_get_affinity_format(buffer)
        call check(length == 12 .and. buffer == 'n %n of %.2N', 'the format')
        length = omp_capture_affinity(buffer, '')
        call check(length == 9 .and. buffer == 'n 0 of  1', 'the default format')
        length = omp_capture_affinity(buffer, 'L %L')
        call check(length == 3 .and. buffer == 'L 0', 'another format')
        length = omp_capture_affinity(small, '%0.5n')
        call check(length == 5 .and. small == '000', 'a small buffer')
    end subroutine

    subroutine memory()
        use iso_c_binding
        type(omp_alloctrait) :: traits(1)
        integer(omp_allocator_handle_kind) :: allocator
        type(c_ptr) :: block
        traits(1) = omp_alloctrait(omp_atk_alignment, 128)
        allocator = omp_init_allocator(omp_default_mem_space, 1, traits)
        call check(allocator /= omp_null_allocator, 'an allocator')
        call omp_set_default_allocator(allocator)
        call check(omp_get_default_allocator() == allocator, 'the default allocator')
        block = omp_alloc(100_c_size_t, omp_null_allocator)
        call check(mod(transfer(block, 0_c_intptr_t), 128_c_intptr_t) == 0, 'aligned memory')
        call omp_free(block, allocator)
        call omp_set_default_allocator(omp_default_mem_alloc)
        call omp_destroy_allocator(allocator)
    end subroutine
end program
