// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the guest's file tree. The test directories lie below the build directory, because a tree below `/tmp`
//! would be one that the guest makes itself.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn tree() -> tempfile::TempDir {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Prefer a place outside the guest's own trees; the tests state where it matters.
    tempfile::Builder::new().prefix(".view-test").tempdir_in(base).unwrap()
}

fn plan(
    root: Option<&Path>,
    cwd: Option<&Path>,
    mounts: &[MountArg],
    host_cwd: &Path,
) -> Result<View, Failure> {
    View::plan(&ViewRequest { root, cwd, mounts }, host_cwd)
}

fn mount(host: &Path, guest: &str, writable: bool) -> MountArg {
    MountArg { host: host.into(), guest: guest.into(), writable }
}

#[test]
fn working_directory_is_writable_and_the_rest_is_not() {
    let dir = tree();
    let cwd = dir.path().canonicalize().unwrap();
    let view = plan(None, None, &[], &cwd).unwrap();
    assert_eq!(view.cwd, cwd);
    assert_eq!(
        view.mounts(),
        [
            HostMount { host: "/".into(), guest: "/".into(), writable: false },
            HostMount { host: cwd.clone(), guest: cwd, writable: true },
        ]
    );
}

#[test]
fn root_as_working_directory_stays_read_only() {
    let view = plan(None, None, &[], Path::new("/")).unwrap();
    assert_eq!(view.mounts().len(), 1);
    assert_eq!(view.cwd, Path::new("/"));
}

#[test]
fn a_working_directory_below_tmp_is_mounted_into_the_guests_tmp() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    fs::write(cwd.join("a"), "").unwrap();
    let view = plan(None, None, &[], &cwd).unwrap();
    assert_eq!(view.mounts()[1].guest, cwd);
    assert_eq!(view.resolve(Path::new("a")).unwrap().host, cwd.join("a"));
    assert!(matches!(view.resolve(Path::new("/tmp/other/x")), Err(LookupError::InGuestTree(_))));
}

#[test]
fn files_hidden_by_a_guest_tree_can_be_uncovered() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let file = dir.path().canonicalize().unwrap().join("prog");
    fs::write(&file, "").unwrap();
    let mut view = plan(None, None, &[], Path::new("/usr")).unwrap();
    assert!(matches!(view.resolve(&file), Err(LookupError::InGuestTree(path)) if path == file));
    assert!(view.uncover(&file));
    assert_eq!(view.resolve(&file).unwrap().host, file);
    assert!(!view.mounts().last().unwrap().writable);
}

#[test]
fn the_working_directory_stays_writable_however_the_program_is_named() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let above = dir.path().canonicalize().unwrap();
    let bin = above.join("bin");
    for name in ["bin", "src"] {
        fs::create_dir(above.join(name)).unwrap();
    }
    fs::write(bin.join("prog"), "").unwrap();
    symlink("bin", above.join("link")).unwrap();
    for name in ["src/../bin/prog", "link/prog"] {
        let mut view = plan(None, None, &[], &bin).unwrap();
        let before = view.mounts().to_vec();
        assert!(before.last().unwrap().writable);
        assert!(view.uncover(&above.join(name)));
        assert_eq!(view.mounts(), before, "{name}");
    }
}

#[test]
fn links_are_followed_inside_another_root() {
    let dir = tree();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("usr/lib")).unwrap();
    fs::write(root.join("usr/lib/ld.so"), "").unwrap();
    symlink("usr/lib", root.join("lib")).unwrap();
    symlink("/lib/ld.so", root.join("loader")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let view = plan(Some(&root), None, &[], Path::new("/")).unwrap();
    let found = view.resolve(Path::new("/usr/../loader")).unwrap();
    assert_eq!(found, Found { guest: "/usr/lib/ld.so".into(), host: root.join("usr/lib/ld.so") });
    assert!(matches!(view.resolve(Path::new("/loop")), Err(LookupError::NotFound)));
    assert_eq!(view.guest_path_of(&root.join("usr/lib")), Some("/usr/lib".into()));
    assert_eq!(view.guest_path_of(Path::new("/etc")), None);
}

#[test]
fn a_working_directory_inside_another_root_gets_its_guest_path() {
    let dir = tree();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("home/u")).unwrap();
    let view = plan(Some(&root), None, &[], &root.join("home/u")).unwrap();
    assert_eq!(view.cwd, Path::new("/home/u"));
    assert!(view.mounts()[1].writable);
    let elsewhere = plan(Some(&root), None, &[], Path::new("/usr")).unwrap();
    assert_eq!((elsewhere.cwd.as_path(), elsewhere.mounts().len()), (Path::new("/"), 1));
}

#[test]
fn mounts_are_ordered_and_need_a_mount_point() {
    let dir = tree();
    let host = dir.path().canonicalize().unwrap();
    fs::create_dir_all(host.join("sub")).unwrap();
    let below = format!("{}/sub", "/tmp/m");
    let mounts = [mount(&host, &below, false), mount(&host, "/tmp/m", true)];
    let view = plan(None, None, &mounts, Path::new("/")).unwrap();
    let guests: Vec<_> = view.mounts().iter().map(|m| m.guest.to_str().unwrap()).collect();
    assert_eq!(guests, ["/", "/tmp/m", "/tmp/m/sub"]);

    let error = plan(None, None, &[mount(&host, "/no/such/place", true)], Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("/no/such/place"), "{error}");
    let error = plan(None, None, &[mount(Path::new("/no/dir"), "/tmp/x", true)], Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("/no/dir"), "{error}");
}

#[test]
fn the_users_mount_decides_whether_the_working_directory_is_writable() {
    let dir = tree();
    let host = dir.path().canonicalize().unwrap();
    let guest = host.to_str().unwrap();
    let view = plan(None, None, &[mount(&host, guest, false)], &host).unwrap();
    assert_eq!(view.mounts().len(), 2);
    assert!(!view.mounts()[1].writable);
}

#[test]
fn a_missing_working_directory_is_an_error() {
    let error = plan(None, Some(Path::new("/no/such")), &[], Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("/no/such"), "{error}");
}
