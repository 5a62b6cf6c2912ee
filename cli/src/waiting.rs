// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How an OpenMP run-time should wait where the machine has more CPUs than the host has cores.
//!
//! libgomp and libomp decide by the CPUs they see whether a thread that waits spins, for up to 0.2 s; they cannot see that
//! the host does not run the CPU whose thread would end the wait. The kernel makes spinning CPUs rest, but only the run-time
//! knows what it waits for. So such a machine's program gets the standard's variable for it, unless the user has decided.

use crate::launch::is_set;

/// What the OpenMP specification calls threads that should not use processor time while they wait.
const PASSIVE: &[u8] = b"OMP_WAIT_POLICY=passive";
/// Variables by which a user decides how threads wait: the standard's, libgomp's, libomp's.
const DECIDED_BY: [&str; 4] = ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"];

/// Adds the setting to an environment of `NAME=value`s for a machine of so many CPUs, if it is needed and nobody has decided.
pub(crate) fn add_policy(environment: &mut Vec<Vec<u8>>, cpus: u32, host_cores: u32) {
    let decided = DECIDED_BY.iter().any(|name| is_set(environment, name));
    if cpus > host_cores && host_cores > 0 && !decided {
        environment.push(PASSIVE.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::{PASSIVE, add_policy};

    fn policy(settings: &[&str], cpus: u32) -> Vec<Vec<u8>> {
        let mut environment: Vec<_> = settings.iter().map(|setting| setting.as_bytes().to_vec()).collect();
        add_policy(&mut environment, cpus, 2);
        environment
    }

    #[test]
    fn threads_wait_passively_where_cpus_share_cores() {
        assert_eq!(policy(&["HOME=/"], 3), [b"HOME=/", PASSIVE]);
        assert_eq!(policy(&["HOME=/"], 2), [b"HOME=/"]);
    }

    #[test]
    fn the_user_decides() {
        for own in ["OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=5", "KMP_BLOCKTIME=1", "KMP_LIBRARY=turnaround"]
        {
            assert_eq!(policy(&[own], 8), [own.as_bytes()]);
        }
        assert_eq!(policy(&["OMP_WAIT_POLICY_OF_MINE=active"], 8).len(), 2);
    }
}
