//! The cache against a stand-in for apt that serves small packages from a folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;
use crate::kernel::tests::{image, module};

/// Collects the notes and finished steps that the user would see.
#[derive(Default)]
struct RecordedProgress {
    notes: Vec<String>,
    finished: Vec<String>,
}

impl Progress for RecordedProgress {
    fn step(&mut self, step: &Step<'_>) {
        assert!((0.0..=1.0).contains(&step.fraction), "{step:?}");
        if step.fraction >= 1.0 {
            self.finished.push(step.what.to_owned());
        }
    }
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

/// A folder with fake `apt-get`, `apt-cache`, `apt-config` and the real dpkg-deb.
struct Server {
    dir: tempfile::TempDir,
}

/// `apt-get` answers with the files in `served/`; while the file `fail` exists, every
/// call that would use the network prints it and ends with 100, the next download
/// does so with `fail-once`, and with `fail-security` each index with security updates. Every call
/// is noted.
const APT_GET: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
fail() { [ ! -e "$here/fail" ] || { cat "$here/fail" >&2; exit 100; }; }
last=
for last; do :; done
name=${last%%=*}
case "$*" in
    *indextargets*) exit 0 ;;
    *update*) fail
        if [ -e "$here/fail-security" ] && grep -q security "${APT_CONFIG%/*}/sources.list"; then
            cat "$here/fail-security" >&2; exit 100
        fi
        echo "dlstatus:1:50.0:Retrieving" ;;
    *--print-uris*)
        for file in "$here"/served/"$name"_*.deb; do
            echo "'http://server/x.deb' $(basename "$file") $(wc -c <"$file") SHA256:$(cat "$here/digest" 2>/dev/null || sha256sum "$file" | cut -d' ' -f1)"
        done ;;
    *) fail
        if [ -e "$here/fail-once" ]; then cat "$here/fail-once" >&2; rm "$here/fail-once"; exit 100; fi
        echo "dlstatus:1:50.0:Retrieving"; cp -n "$here"/served/"$name"_*.deb . ;;
esac
"#;
const APT_CACHE: &str = r#"#!/bin/sh
here=$(dirname "$0")
[ -e "$here/records/$2" ] || { echo "E: No packages found" >&2; exit 100; }
cat "$here/records/$2"
"#;

impl Server {
    /// Starts one, or says why the tests that need it cannot run.
    fn start() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let found = Command::new("sh").args(["-c", "command -v dpkg-deb"]).output().unwrap();
        if !found.status.success() {
            println!("SKIP: dpkg-deb is not on this machine");
            return None;
        }
        let dpkg_deb = String::from_utf8(found.stdout).unwrap();
        std::os::unix::fs::symlink(dpkg_deb.trim(), dir.path().join("dpkg-deb")).unwrap();
        let server = Self { dir };
        for (name, text) in
            [("apt-get", APT_GET), ("apt-cache", APT_CACHE), ("apt-config", "#!/bin/sh\n")]
        {
            server.program(name, text);
        }
        fs::create_dir(server.path("served")).unwrap();
        fs::create_dir(server.path("records")).unwrap();
        Some(server)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    fn fail(&self, words: &str) {
        fs::write(self.path("fail"), words).unwrap();
    }

    /// A cache in `dir` that asks this server.
    fn cache(&self, dir: &Path) -> Cache {
        let mut cache = Cache::open_at(dir).unwrap();
        cache.tools.dir = Some(self.dir.path().to_owned());
        cache.tools.mirror_pause = Duration::ZERO;
        cache
    }

    /// Serves a package with these files.
    fn serve(&self, name: &str, version: &str, files: &[(&str, Vec<u8>)]) {
        let tree = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let control_dir = tree.path().join("DEBIAN");
        fs::create_dir(&control_dir).unwrap();
        // dpkg-deb refuses it with what a umask of 077 makes of it.
        fs::set_permissions(&control_dir, fs::Permissions::from_mode(0o755)).unwrap();
        let control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: all\n\
             Maintainer: nobody <n@example.org>\nDescription: test\n"
        );
        fs::write(control_dir.join("control"), &control).unwrap();
        let deb = self.path("served").join(format!("{name}_{version}_all.deb"));
        for old in fs::read_dir(self.path("served")).unwrap().map(|e| e.unwrap().path()) {
            if old.file_name().unwrap().to_string_lossy().starts_with(&format!("{name}_")) {
                fs::remove_file(old).unwrap();
            }
        }
        let built = Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Znone", "--build"])
            .arg(tree.path())
            .arg(&deb)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let record = format!("{control}Installed-Size: 1\nSize: 1000\n\n");
        fs::write(self.path("records").join(name), record).unwrap();
    }

    /// Serves a kernel of this release through the metapackage of 6.12-rt.
    fn serve_kernel(&self, release: &str) {
        let package = format!("linux-image-{release}");
        let vermagic = format!("vermagic={release} SMP preempt_rt mod_unload");
        self.serve(
            &package,
            "6.12-1",
            &[
                (&format!("boot/vmlinuz-{release}"), image(release)),
                (&format!("boot/config-{release}"), b"CONFIG_PREEMPT_RT=y\n".to_vec()),
                (
                    &format!("lib/modules/{release}/kernel/sch_etf.ko"),
                    module(&["depends=", &vermagic]),
                ),
            ],
        );
        let meta = format!(
            "Package: linux-image-6.12-rt-amd64\nVersion: 6.12-1\nDepends: {package} (= 6.12-1)\n\n"
        );
        fs::write(self.path("records/linux-image-6.12-rt-amd64"), meta).unwrap();
    }
}

#[test]
fn a_kernel_is_fetched_once_and_then_used_without_asking_anybody() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let mut progress = RecordedProgress::default();
    let kernel = cache.kernel(&KernelSpec::default(), &mut progress).unwrap();
    assert_eq!(kernel.release, "6.12.5-rt-amd64");
    assert_eq!(kernel.name, "debian:6.12-rt");
    assert_eq!(kernel.package.as_ref().unwrap().version, "6.12-1");
    assert_eq!(kernel.image_sha256, item::sha256_of(&kernel.image).unwrap());
    assert!(kernel.config.as_ref().unwrap().exists());
    assert_eq!(kernel.modules_for(&["sch_etf"]).unwrap().len(), 1);
    assert_eq!(
        progress.finished,
        [
            "fetch the package index of Debian 12",
            "fetch linux-image-6.12.5-rt-amd64",
            "unpack linux-image-6.12.5-rt-amd64"
        ]
    );

    server.fail("E: nobody may be asked");
    let before = server.calls();
    let again = server.cache(dir.path()).kernel(&KernelSpec::default(), &mut ()).unwrap();
    assert_eq!(again.image, kernel.image);
    assert_eq!(server.calls(), before);
    // Package files are of no use any more.
    assert_eq!(fs::read_dir(dir.path().join("apt/bookworm-amd64/archives")).unwrap().count(), 1);
}

#[test]
fn a_kernel_with_one_flipped_bit_is_noticed_and_fetched_again() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let kernel = cache.kernel(&KernelSpec::default(), &mut ()).unwrap();
    let whole = fs::read(&kernel.image).unwrap();
    for damaged in [kernel.image.clone(), kernel.modules_dir.join("kernel/sch_etf.ko")] {
        let mut bytes = fs::read(&damaged).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&damaged, bytes).unwrap();
        assert!(matches!(cache.status().unwrap()[0].health, Health::Damaged(_)));
        let mut progress = RecordedProgress::default();
        cache.kernel(&KernelSpec::default(), &mut progress).unwrap();
        assert_eq!(progress.notes.len(), 1);
        let file = damaged.file_name().unwrap().to_string_lossy().into_owned();
        assert!(progress.notes[0].contains(&file), "{}", progress.notes[0]);
        assert_eq!(fs::read(&kernel.image).unwrap(), whole);
        assert_eq!(cache.status().unwrap()[0].health, Health::Whole);
    }
}

#[test]
fn a_newer_kernel_is_used_after_refresh_only_and_clean_removes_the_old_one() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let spec = KernelSpec::default();
    cache.kernel(&spec, &mut ()).unwrap();
    server.serve_kernel("6.12.6-rt-amd64");
    assert_eq!(cache.kernel(&spec, &mut ()).unwrap().release, "6.12.5-rt-amd64");
    assert_eq!(cache.refresh_kernel(&spec, &mut ()).unwrap().release, "6.12.6-rt-amd64");
    assert_eq!(cache.kernel(&spec, &mut ()).unwrap().release, "6.12.6-rt-amd64");
    let status = cache.status().unwrap();
    let names: Vec<_> = status.iter().map(|one| one.names.len()).collect();
    assert_eq!(names, [0, 1], "{status:?}");

    let cleaned = server.cache(dir.path());
    assert!(matches!(
        cleaned.clean(Clean::Unused, &mut ()),
        Err(CacheError::Store(StoreError::InUse))
    ));
    let cleaned = cache.clean(Clean::Unused, &mut ()).unwrap();
    assert_eq!(cleaned.items, 1);
    assert!(cleaned.bytes > 4000, "{cleaned:?}");
    let cache = server.cache(dir.path());
    assert_eq!(cache.kernel(&spec, &mut ()).unwrap().release, "6.12.6-rt-amd64");
    assert_eq!(cache.clean(Clean::All, &mut ()).unwrap().items, 1);
    assert_eq!(server.cache(dir.path()).status().unwrap(), []);
}

#[test]
fn every_failure_of_the_server_has_its_own_sentence_and_leaves_nothing_half() {
    type Case = (&'static str, fn(&FetchError) -> bool);
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    let dir = tempfile::tempdir().unwrap();
    let cases: [Case; 11] = [
        ("W: Failed to fetch http://h/x  Temporary failure resolving 'h'", |e| {
            matches!(e, FetchError::NoNetwork { .. })
        }),
        ("E: Failed to fetch http://h/x  Could not connect to h:80", |e| {
            matches!(e, FetchError::NoNetwork { .. })
        }),
        ("E: Write error - write (28: No space left on device)", |e| {
            matches!(e, FetchError::Store(StoreError::Full { .. }))
        }),
        ("E: The repository 'http://h bookworm InRelease' is not signed.", |e| {
            matches!(e, FetchError::Untrusted { .. })
        }),
        ("E: Release file for http://h is not valid yet (invalid for another 3d)", |e| {
            matches!(e, FetchError::Untrusted { .. })
        }),
        ("E: Failed to fetch http://h/x  Hash Sum mismatch", |e| {
            matches!(e, FetchError::MirrorChanging { .. })
        }),
        ("E: Failed to fetch http://h/x.deb  404  Not Found [IP: 192.0.2.1 80]", |e| {
            matches!(e, FetchError::MirrorChanging { .. })
        }),
        ("E: Failed to fetch http://h/x  403  Forbidden [IP: 192.0.2.1 3128]", |e| {
            matches!(e, FetchError::Refused { .. })
        }),
        (
            "E: Failed to fetch http://h/x  Invalid response from proxy: HTTP/1.1 407 Proxy \
             Authentication Required",
            |e| matches!(e, FetchError::Refused { .. }),
        ),
        (
            "E: Failed to fetch https://h/x  Certificate verification failed: The certificate is \
             NOT trusted. Could not handshake: Error in the certificate verification.",
            |e| matches!(e, FetchError::Certificate { .. }),
        ),
        (
            "E: something nobody foresaw",
            |e| matches!(e, FetchError::Tool { message, .. } if message == "something nobody foresaw"),
        ),
    ];
    for (words, expected) in cases {
        server.fail(words);
        let why = server.cache(dir.path()).kernel(&KernelSpec::default(), &mut ()).unwrap_err();
        let CacheError::Fetch(why) = why else { panic!("{words}: {why:?}") };
        assert!(expected(&why), "{words}: {why:?}");
        assert!(!why.to_string().contains('\n'), "{why}");
        assert_eq!(server.cache(dir.path()).status().unwrap(), []);
    }
    fs::remove_file(server.path("fail")).unwrap();
    server.cache(dir.path()).kernel(&KernelSpec::default(), &mut ()).unwrap();
}

#[test]
fn a_package_missing_on_a_mirror_is_requested_again_with_a_fresh_index() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    fs::write(server.path("fail-once"), "E: Failed to fetch http://h/x.deb  404  Not Found")
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut progress = RecordedProgress::default();
    server.cache(dir.path()).kernel(&KernelSpec::default(), &mut progress).unwrap();
    assert_eq!(progress.notes.len(), 1, "{:?}", progress.notes);
    assert!(progress.notes[0].contains("trying again"), "{:?}", progress.notes);
    assert_eq!(server.calls().lines().filter(|call| call.ends_with("update")).count(), 2);
}

#[test]
fn where_only_the_index_of_security_updates_stays_out_of_date_it_is_done_without_them() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    let complaint = |suite: &str| {
        let message = format!("E: Failed to fetch http://h/{suite}/x  File has unexpected size");
        fs::write(server.path("fail-security"), message).unwrap();
    };
    let dir = tempfile::tempdir().unwrap();
    complaint("bookworm");
    let why = server.cache(dir.path()).kernel(&KernelSpec::default(), &mut ()).unwrap_err();
    assert!(matches!(why, CacheError::Fetch(FetchError::MirrorChanging { .. })), "{why}");
    complaint("bookworm-security");
    let mut progress = RecordedProgress::default();
    server.cache(dir.path()).kernel(&KernelSpec::default(), &mut progress).unwrap();
    assert!(progress.notes[1].contains("without its security updates"), "{:?}", progress.notes);
}

#[test]
fn a_download_that_is_not_what_the_index_signed_is_never_unpacked() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    fs::write(server.path("digest"), "00").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let why = cache.kernel(&KernelSpec::default(), &mut ()).unwrap_err();
    assert!(matches!(why, CacheError::Fetch(FetchError::MirrorChanging { .. })), "{why}");
    assert_eq!(cache.status().unwrap(), []);

    // A damaged left-over of the right size does not stand in the way (apt would take it).
    fs::remove_file(server.path("digest")).unwrap();
    let name = "linux-image-6.12.5-rt-amd64_6.12-1_all.deb";
    let mut bytes = fs::read(server.path("served").join(name)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(dir.path().join("apt/bookworm-amd64/archives").join(name), bytes).unwrap();
    cache.kernel(&KernelSpec::default(), &mut ()).unwrap();
}

#[test]
fn an_apt_without_output_is_ended() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    server.program("apt-get", "#!/bin/sh\ncase \"$*\" in *update*) exec sleep 60 ;; esac\n");
    let dir = tempfile::tempdir().unwrap();
    let mut cache = server.cache(dir.path());
    cache.tools.silence_limit = Duration::from_millis(300);
    let started = Instant::now();
    let why = cache.kernel(&KernelSpec::default(), &mut ()).unwrap_err();
    assert!(matches!(why, CacheError::Fetch(FetchError::Silent { .. })), "{why}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_broken_package_is_thrown_away_and_the_next_try_works() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    let deb = server.path("served/linux-image-6.12.5-rt-amd64_6.12-1_all.deb");
    let whole = fs::read(&deb).unwrap();
    fs::write(&deb, &whole[..whole.len() / 2]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let why = cache.kernel(&KernelSpec::default(), &mut ()).unwrap_err();
    assert!(matches!(why, CacheError::Fetch(FetchError::Tool { .. })), "{why}");
    assert_eq!(fs::read_dir(dir.path().join("kernels")).unwrap().count(), 0);
    fs::write(&deb, whole).unwrap();
    cache.kernel(&KernelSpec::default(), &mut ()).unwrap();
}

#[test]
fn a_version_debian_does_not_package_names_those_it_does() {
    let Some(server) = Server::start() else { return };
    server.serve_kernel("6.12.5-rt-amd64");
    let records = server.path("records");
    fs::rename(records.join("linux-image-6.12-rt-amd64"), records.join("linux-image-rt-amd64"))
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let why = cache.kernel(&"debian:5.4-rt".parse().unwrap(), &mut ()).unwrap_err().to_string();
    assert!(why.contains("debian:5.4-rt") && why.contains("6.12.5-rt-amd64"), "{why}");
    // The general metapackage leads to the version too.
    cache.kernel(&KernelSpec::default(), &mut ()).unwrap();
}

#[test]
fn without_apt_the_machine_is_reported_as_not_debian_like() {
    let dir = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let mut cache = Cache::open_at(dir.path()).unwrap();
    cache.tools.dir = Some(empty.path().to_owned());
    let why = cache.kernel(&KernelSpec::default(), &mut ()).unwrap_err();
    assert!(matches!(why, CacheError::Fetch(FetchError::NotDebian { .. })), "{why}");
    assert!(why.to_string().contains("--kernel"), "{why}");
}

#[test]
fn a_package_gives_its_unpacked_files() {
    let Some(server) = Server::start() else { return };
    server.serve("busybox-static", "1", &[("bin/busybox", b"#!".to_vec())]);
    let dir = tempfile::tempdir().unwrap();
    let root = server.cache(dir.path()).package("busybox-static", Arch::X86_64, &mut ()).unwrap();
    assert_eq!(fs::read(root.join("bin/busybox")).unwrap(), b"#!");
    let why = server.cache(dir.path()).package("nonesuch", Arch::X86_64, &mut ()).unwrap_err();
    assert!(matches!(why, CacheError::Fetch(FetchError::NotPackaged { .. })), "{why}");
}

/// A program that answers like QEMU of this version.
fn qemu_program(version: &str) -> String {
    format!(
        "#!/bin/sh\ncase \"$*\" in *--version) echo 'QEMU emulator version {version}' ;;\n\
         *) echo 'name \"e1000e\" name \"igb\" name \"rtl8139\"' ;; esac\n"
    )
}

#[test]
fn where_the_systems_qemu_is_too_old_a_private_one_is_fetched_once() {
    let Some(server) = Server::start() else { return };
    server.program("qemu-system-x86_64", &qemu_program("7.2.0"));
    let program = qemu_program("10.0.2").into_bytes();
    server.serve("qemu-system-x86", "10.0.2", &[("usr/bin/qemu-system-x86_64", program)]);
    let deb = server.path("served/qemu-system-x86_10.0.2_all.deb");
    fs::rename(deb, server.path("served/qemu-system-x86_1%3a10.0.2_all.deb")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let mut progress = RecordedProgress::default();
    let qemu = cache.qemu(Arch::X86_64, &mut progress).unwrap();
    assert_eq!(qemu.version.to_string(), "10.0.2");
    assert_eq!(qemu.package_version.as_deref(), Some("1:10.0.2"));
    assert!(qemu.program.starts_with(dir.path()));
    // A colon would split the path of the libraries.
    assert!(!qemu.program.to_string_lossy().contains(':'), "{}", qemu.program.display());
    assert!(progress.notes[0].contains("is 7.2.0") && progress.notes[0].contains("privately"));
    let calls = server.calls();
    cache.qemu(Arch::X86_64, &mut ()).unwrap();
    assert_eq!(server.calls(), calls);

    server.program("qemu-system-x86_64", &qemu_program("10.1.0"));
    assert_eq!(cache.qemu(Arch::X86_64, &mut ()).unwrap().version.to_string(), "10.1.0");
}

#[test]
fn a_cache_folder_that_may_not_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let why = Cache::open_at(&file.join("teiji")).unwrap_err();
    assert!(why.to_string().contains(file.to_str().unwrap()), "{why}");
    // Root may write everywhere but in /proc, whoever it is.
    let why = Cache::open_at(Path::new("/proc/teiji-test")).unwrap_err();
    assert!(
        matches!(why, CacheError::Store(StoreError::Permission { .. } | StoreError::Io { .. })),
        "{why:?}"
    );
}

/// Against the real package server, as far as there is one.
#[test]
fn a_real_package_is_fetched_runs_and_is_fetched_again_after_damage() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open_at(dir.path()).unwrap();
    let root = match cache.package("busybox-static", Arch::X86_64, &mut ()) {
        Ok(root) => root,
        Err(
            why @ CacheError::Fetch(
                FetchError::NoNetwork { .. }
                | FetchError::NotDebian { .. }
                | FetchError::NoKeyring { .. },
            ),
        ) => {
            println!("SKIP: {why}");
            return;
        }
        Err(why) => panic!("{why}"),
    };
    let busybox = ["bin/busybox", "usr/bin/busybox"]
        .map(|path| root.join(path))
        .into_iter()
        .find(|path| path.is_file())
        .unwrap();
    let message = Command::new(&busybox).args(["echo", "alive"]).output().unwrap();
    assert_eq!(message.stdout, b"alive\n");
    let mut bytes = fs::read(&busybox).unwrap();
    bytes[1000] ^= 1;
    let whole = item::sha256_of(&busybox).unwrap();
    fs::write(&busybox, bytes).unwrap();
    let mut progress = RecordedProgress::default();
    cache.package("busybox-static", Arch::X86_64, &mut progress).unwrap();
    assert!(progress.notes[0].contains("damaged"), "{:?}", progress.notes);
    assert_eq!(item::sha256_of(&busybox).unwrap(), whole);
}

#[test]
fn modules_of_a_kernel_are_built_with_the_kbuild_of_the_next_one_when_its_own_is_gone() {
    let Some(server) = Server::start() else { return };
    let record = |name: &str, version: &str, depends: &str| {
        format!("Package: {name}\nVersion: {version}\nDepends: {depends}\n\n")
    };
    let serve = |name: &str, text: String| {
        fs::write(server.path("records").join(name), text).unwrap();
    };
    let depends = "linux-headers-6.1.0-56-common (= 6.1.192-2), linux-kbuild-6.1 (>= 6.1.192-2)";
    serve(
        "linux-headers-6.1.0-56-amd64",
        record("linux-headers-6.1.0-56-amd64", "6.1.192-2", depends),
    );
    let dir = tempfile::tempdir().unwrap();
    let cache = server.cache(dir.path());
    let mut fetcher = Fetcher::new(&cache.tools, dir.path());
    let mut resolve =
        || fetcher.resolve_headers("6.1.0-56-amd64", "6.1.192-2", Arch::X86_64, &mut ());
    let why = resolve().unwrap_err().to_string();
    assert!(why.contains("no linux-kbuild-6.1 today"), "{why}");
    let kbuild = |version| record("linux-kbuild-6.1", version, "libc6");
    let newer = kbuild("6.1.192-3");
    serve("linux-kbuild-6.1", newer.clone());
    assert_eq!(resolve().unwrap().kbuild.unwrap().version, "6.1.192-3");
    serve("linux-kbuild-6.1", newer + &kbuild("6.1.192-2"));
    assert_eq!(resolve().unwrap().kbuild.unwrap().version, "6.1.192-2");
}
