//! What a memory cgroup of Linux leaves to its processes. The kernel refuses no request there: when the pages of a group
//! pass its limit, it kills a process of it. So who does not want that looks first.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// A file system of cgroups, by what its files are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Bytes that this process may take before its cgroup, or one above it, is at its limit; `None` without a limit. Pages of
/// files do not count, as the kernel drops these first; and where it can swap, nothing is said.
///
/// What is read here cannot be refused: a session's end is better than an abort.
pub fn room() -> Option<u64> {
    let asking = super::ASKING.swap(false, Relaxed);
    let room = room_of_process();
    super::ASKING.store(asking, Relaxed);
    room
}

fn room_of_process() -> Option<u64> {
    let [memberships, mounts, memory] =
        ["/proc/self/cgroup", "/proc/self/mountinfo", "/proc/meminfo"].map(|file| fs::read_to_string(file).ok());
    let swap = field(&memory?, "SwapTotal:").is_none_or(|total| total > 0);
    room_of(&memberships?, &mounts?, swap)
}

fn room_of(memberships: &str, mounts: &str, swap: bool) -> Option<u64> {
    let (version, group, top) = group(memberships, mounts)?;
    let levels = group.ancestors().take_while(|level| level.starts_with(&top));
    levels.filter_map(|level| room_in(level, version, swap)).min()
}

/// The directory of the process's memory cgroup, and the one where that file system is mounted.
fn group(memberships: &str, mounts: &str) -> Option<(Version, PathBuf, PathBuf)> {
    // Lines of the form ID:CONTROLLERS:PATH; version 2 has no controllers.
    let memberships = memberships.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let groups = memberships.filter_map(|(controllers, path)| match controllers {
        "" => Some((Version::Two, path)),
        _ => controllers
            .split(',')
            .any(|name| name == "memory")
            .then_some((Version::One, path)),
    });
    // Where both are mounted, memory is counted by the first version, which is listed first.
    groups.filter_map(|(version, path)| place(version, path, mounts)).next()
}

/// Where a cgroup is seen. Fields of a mount: ID, its parent, device, root, directory, options, optional ones up to "-",
/// type, source, options of the file system.
fn place(version: Version, path: &str, mounts: &str) -> Option<(Version, PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let (mount, file_system): (Vec<_>, Vec<_>) = (mount.split(' ').collect(), file_system.split(' ').collect());
        let (root, directory, kind, options) = (
            *mount.get(3)?,
            *mount.get(4)?,
            *file_system.first()?,
            *file_system.get(2)?,
        );
        let is_it = match version {
            Version::One => kind == "cgroup" && options.split(',').any(|name| name == "memory"),
            Version::Two => kind == "cgroup2",
        };
        // A container may see its own group as the root of the mount.
        let below = Path::new(path).strip_prefix(root).ok()?;
        is_it.then(|| (version, Path::new(directory).join(below), directory.into()))
    })
}

fn room_in(level: &Path, version: Version, swap: bool) -> Option<u64> {
    let read = |file| fs::read_to_string(level.join(file)).ok();
    // "max", the absence of a limit in version 2, is no number.
    let number = |file| read(file)?.trim().parse::<u64>().ok();
    let names = match version {
        Version::One => [
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
            "total_active_file",
        ],
        Version::Two => ["memory.max", "memory.current", "inactive_file", "active_file"],
    };
    let limit = number(names[0]).filter(|&limit| limit < NO_LIMIT)?;
    let swaps = match version {
        Version::One => number("memory.memsw.limit_in_bytes").is_some_and(|both| both > limit),
        Version::Two => number("memory.swap.max").is_none_or(|most| most > 0),
    };
    if swap && swaps {
        return None;
    }
    let usage = number(names[1])?;
    let statistics = read("memory.stat")?;
    let files = names[2..].iter().filter_map(|name| field(&statistics, name)).sum();
    Some(limit.saturating_sub(usage.saturating_sub(files)))
}

/// Version 1 says so, in whole pages, where there is no limit.
const NO_LIMIT: u64 = i64::MAX as u64 / (64 << 10) * (64 << 10);

/// The number behind a name at the beginning of a line.
fn field(lines: &str, name: &str) -> Option<u64> {
    lines.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next()? == name).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A directory of files that is removed in the end.
    struct Files(PathBuf);

    impl Files {
        fn new(name: &str) -> Self {
            let directory = std::env::temp_dir().join(format!("amax-{name}-{}", std::process::id()));
            fs::create_dir_all(&directory).unwrap();
            Self(directory)
        }

        fn group(&self, path: &str, files: &[(&str, String)]) {
            let group = self.0.join(path);
            fs::create_dir_all(&group).unwrap();
            for (name, content) in files {
                fs::write(group.join(name), content).unwrap();
            }
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_least_room_of_all_groups_above() {
        let files = Files::new("two");
        let limits = |max: &str, swap: &str| {
            let stat = format!("anon 1\ninactive_file {}\nactive_file {}\n", 20 * MIB, 10 * MIB);
            let [max, swap] = [max, swap].map(String::from);
            [
                ("memory.max", max),
                ("memory.current", (100 * MIB).to_string()),
                ("memory.stat", stat),
                ("memory.swap.max", swap),
            ]
        };
        files.group("pod/server", &limits("max\n", "max"));
        files.group("pod", &limits(&(130 * MIB).to_string(), "max"));
        let mounts = format!(
            "24 30 0:22 / /proc rw - proc proc rw\n25 30 0:23 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
            files.0.display()
        );
        // 100 MiB, of which 30 are pages of files.
        assert_eq!(room_of("0::/pod/server\n", &mounts, false), Some(60 * MIB));
        // What could be swapped is not at its limit, unless the group may not.
        assert_eq!(room_of("0::/pod/server\n", &mounts, true), None);
        files.group("pod/server", &limits(&(90 * MIB).to_string(), "0\n"));
        assert_eq!(room_of("0::/pod/server\n", &mounts, true), Some(20 * MIB));
        files.group("pod/server", &limits(&(60 * MIB).to_string(), "0\n"));
        assert_eq!(room_of("0::/pod/server\n", &mounts, true), Some(0));
        assert_eq!(room_of("0::/elsewhere\n", &mounts, true), None);
        assert_eq!(room_of("0::/pod\n", "", true), None);
    }

    #[test]
    fn the_first_version_in_a_container() {
        let files = Files::new("one");
        let limits = |limit: u64| {
            let stat = format!("cache 7\ntotal_inactive_file {MIB}\ntotal_active_file {MIB}\n");
            [
                ("memory.limit_in_bytes", format!("{limit}\n")),
                ("memory.usage_in_bytes", (8 * MIB).to_string()),
                ("memory.stat", stat),
            ]
        };
        files.group("", &limits(10 * MIB));
        let mounts = format!(
            "31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n32 30 0:27 /docker/1f {} rw - cgroup cgroup rw,memory\n",
            files.0.display()
        );
        let memberships = "5:cpuset:/docker/1f\n4:memory:/docker/1f\n0::/\n";
        assert_eq!(room_of(memberships, &mounts, false), Some(4 * MIB));
        files.group("", &limits(NO_LIMIT));
        assert_eq!(room_of(memberships, &mounts, false), None);
    }
}
