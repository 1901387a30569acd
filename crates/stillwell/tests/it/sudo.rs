//! Commands under a real sudo. The user who calls it exists only in a mount namespace of the test, which also has its
//! own sudoers file, so nothing of the machine changes.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, Ran, STILLWELL, is_root, skipped};

const ANN: u32 = 54321;
const IDS: &str = "uid=54321(ann) gid=54321(ann) groups=54321(ann),54400(lab)";

/// Where the user database is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Database {
    Files,
    /// User records of systemd, by its NSS module, stand for a directory service (nss-systemd(8)).
    Directory,
}

/// Mounts the user database and sudoers, then becomes the user. Descriptor 9 is one that sudo closes.
const AS_ANN: &str = r#"
set -e
for file in passwd group nsswitch.conf sudoers; do mount --bind "etc/$file" "/etc/$file"; done
mount -t tmpfs none /run
cp -R userdb /run/userdb
cd home
umask 027
exec 9< ../etc/passwd
exec setpriv --reuid=54321 --regid=54321 --groups=54321,54400 "$@"
"#;

/// Prints all that a process inherits. `ls` has one descriptor of its own.
const PROBE: &str = r#"#!/bin/sh
id
echo "$HOME $USER $LOGNAME $SHELL"
echo "umask $(umask), lender's variables: $(env | grep -cE '^(SUDO|DOAS|PKEXEC)_')"
echo "descriptors" $(ls /proc/self/fd)
grep -E '^(Cap|NoNewPrivs)' /proc/self/status
"#;

struct Sudo(Bench);

impl Sudo {
    /// `None` if this machine cannot do it, which counts as skipped.
    fn new(database: Database) -> Option<Self> {
        let bench = Bench::new();
        for directory in ["etc", "userdb", "home", "bin"] {
            std::fs::create_dir(bench.path(directory)).unwrap();
        }
        chown(bench.path("home"), Some(ANN), Some(ANN)).ok();
        let (home, bin) = (bench.path("home"), bench.path("bin"));
        let (home, bin) = (home.display(), bin.display());
        let (mut passwd, mut group, mut services) =
            (String::from("root:x:0:0:root:/root:/bin/bash\n"), String::from("root:x:0:\n"), "");
        match database {
            Database::Files => {
                passwd += &format!("ann:*:{ANN}:{ANN}:Ann:{home}:/bin/sh\n");
                group += &format!("ann:x:{ANN}:\nlab:x:54400:ann\n");
            }
            Database::Directory => {
                services = " systemd";
                let user = format!(
                    r#"{{"userName":"ann","uid":{ANN},"gid":{ANN},"homeDirectory":"{home}","shell":"/bin/sh"}}"#
                );
                for (name, text) in [
                    ("ann.user", &*user),
                    ("54321.user", &*user),
                    ("ann.group", r#"{"groupName":"ann","gid":54321}"#),
                    ("54321.group", r#"{"groupName":"ann","gid":54321}"#),
                    ("lab.group", r#"{"groupName":"lab","gid":54400}"#),
                    ("54400.group", r#"{"groupName":"lab","gid":54400}"#),
                    ("ann:lab.membership", "{}"),
                ] {
                    bench.write(&format!("userdb/{name}"), text);
                }
            }
        }
        bench.write("etc/passwd", &passwd);
        bench.write("etc/group", &group);
        let services =
            ["passwd", "group", "initgroups"].map(|it| format!("{it}: files{services}\n"));
        bench.write("etc/nsswitch.conf", &services.concat());
        let sudoers = format!(
            "Defaults env_reset, !pam_acct_mgmt\nDefaults secure_path={bin}:/usr/sbin:/usr/bin:/sbin:/bin\n\
             ann ALL=(root) NOPASSWD: ALL\n"
        );
        bench.write("etc/sudoers", &sudoers);
        std::fs::set_permissions(bench.path("etc/sudoers"), PermissionsExt::from_mode(0o440))
            .unwrap();
        bench.write("as-ann", AS_ANN);
        bench.script("probe", PROBE);
        bench.install(Path::new(STILLWELL), "stillwell-copy");
        let sudo = Self(bench);
        if !is_root() {
            skipped("needs root, to become another user");
            return None;
        }
        let is_known = sudo.call(&["sh", "-c", "id ann"]);
        if is_known.code != Some(0) || !is_known.stdout.contains(IDS) {
            skipped(&format!(
                "sudo does not work in a mount namespace here, or libnss-systemd is missing: {}",
                is_known.stderr.lines().last().unwrap_or_default()
            ));
            return None;
        }
        Some(sudo)
    }

    /// Calls sudo as the user, in the home directory.
    fn call(&self, words: &[&str]) -> Ran {
        self.as_ann(&[&["sudo", "-n"], words].concat())
    }

    /// Calls a program as the user, in the home directory.
    fn as_ann(&self, words: &[&str]) -> Ran {
        let mut command: Command = self.0.command("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "as-ann"]).args(words);
        match command.output() {
            Ok(output) => Ran::from(output),
            Err(error) => Ran { code: None, stdout: String::new(), stderr: error.to_string() },
        }
    }

    fn stillwell(&self, words: &[&str]) -> Ran {
        self.call(&[&["../stillwell-copy"], words].concat())
    }

    /// Asserts that the file has what the probe prints for the user.
    #[track_caller]
    fn is_of_ann(&self, file: &str) {
        let home = self.0.path("home");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let bounding = status.lines().find(|line| line.starts_with("CapBnd")).unwrap();
        let none = "0000000000000000";
        let expected = format!(
            "{IDS}\n{} ann ann /bin/sh\numask 0027, lender's variables: 0\ndescriptors 0 1 2 3\nCapInh:\t{none}\n\
             CapPrm:\t{none}\nCapEff:\t{none}\n{bounding}\nCapAmb:\t{none}\nNoNewPrivs:\t0\n",
            home.display()
        );
        assert_eq!(self.0.read(&format!("home/{file}")), expected, "{file}");
    }
}

#[test]
fn commands_and_hooks_run_as_the_user_who_called_sudo() {
    let Some(sudo) = Sudo::new(Database::Files) else { return };
    let hooks = ["-s", "../probe >setup", "-p", "../probe >prepare", "-C", "../probe >conclude"];
    let run = ["run", "-r", "2", "-o", "r.swell", "-c", "../probe >cleanup", "--output", "./run"];
    sudo.stillwell(&[&run[..], &hooks, &["../probe"]].concat()).ends_with(0);
    for file in ["run", "setup", "prepare", "conclude", "cleanup"] {
        sudo.is_of_ann(file);
    }
    let captured = ["run", "-r", "1", "-o", "v.swell", "--validate", "cat >validate", "../probe"];
    sudo.stillwell(&captured).ends_with(0);
    sudo.is_of_ann("validate");
    // It ends at the first run, because replaying takes long.
    let calibrate = ["calibrate", "-r", "120", "-o", "c.swell", "../probe >calibrate; false"];
    sudo.stillwell(&calibrate).ends_with(2);
    sudo.is_of_ann("calibrate");
    sudo.stillwell(&["load", "1", "--", "sh", "-c", "../probe >load"]).ends_with(0);
    sudo.is_of_ann("load");
}

#[test]
fn workers_and_suites_run_as_the_user_who_called_sudo() {
    let Some(sudo) = Sudo::new(Database::Files) else { return };
    sudo.0.script("home/no-worker", "#!/bin/sh\n../probe >bench\n");
    // It is no worker, and ends before the pipes of the protocol matter.
    sudo.stillwell(&["bench", "-o", "b.swell", "./no-worker"]).ends_with(2);
    let bench = sudo.0.read("home/bench");
    assert!(bench.starts_with(IDS) && bench.contains(" ann ann /bin/sh\numask 0027"), "{bench}");
    sudo.0.write(
        "home/s.toml",
        "[[variant]]\nname = \"a\"\nbuild = { command = \"../probe >build\" }\n[[variant]]\nname = \"b\"\n\
         [[benchmark]]\nname = \"one\"\ncommand = \"../probe >suite\"\nsetup = \"../probe >suite-setup\"\n",
    );
    sudo.stillwell(&["bench", "s.toml", "-r", "2", "-o", "suite.d"]).ends_with(0);
    for file in ["suite", "suite-setup", "build"] {
        sudo.is_of_ann(file);
    }
    sudo.0.write("home/p.toml", "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n[[benchmark]]\nname = \"one\"\ncommand = \"../probe >pool\"\n");
    let pool = ["pool", "run", "p.toml", "-o", "p", "--repetitions", "1", "--runs", "1"];
    sudo.stillwell(&[&pool[..], &["--submit", "sh -c '../probe >submit; sh {script}'"]].concat())
        .ends_with(0);
    for file in ["pool", "submit"] {
        sudo.is_of_ann(file);
    }
    if !Path::new("/usr/bin/python3").exists() {
        return skipped("there is no /usr/bin/python3");
    }
    let statement = "import os; os.system('../probe >timeit')";
    let timeit =
        ["timeit", "--debug-single-value", "-o", "t.swell", "--python", "/usr/bin/python3"];
    sudo.stillwell(&[&timeit[..], &[statement]].concat()).ends_with(0);
    sudo.is_of_ann("timeit");
}

/// git reads the configuration in HOME, and stops where it may not.
#[test]
fn git_runs_as_the_user_who_called_sudo() {
    let Some(sudo) = Sudo::new(Database::Files) else { return };
    sudo.0.script("bin/git", "#!/bin/sh\n../probe >git\nexit 1\n");
    sudo.stillwell(&["run", "-r", "2", "-o", "r.swell", "true"]).ends_with(0);
    sudo.stillwell(&["history", "add", "--db", "h.db", "--revision", "abc", "r.swell"])
        .ends_with(0);
    let git = sudo.0.read("home/git");
    assert!(git.starts_with(IDS) && git.contains(" ann ann /bin/sh\n"), "{git}");
    // It cannot get root back by a setuid program.
    assert!(git.ends_with("NoNewPrivs:\t1\n"), "{git}");
}

#[test]
fn groups_and_home_come_from_the_directory_service_too() {
    let Some(sudo) = Sudo::new(Database::Directory) else { return };
    let run = ["run", "-r", "1", "-o", "r.swell", "--output", "./run", "../probe"];
    sudo.stillwell(&run).ends_with(0);
    sudo.is_of_ann("run");
}

#[test]
fn as_root_keeps_root() {
    let Some(sudo) = Sudo::new(Database::Files) else { return };
    let words = ["--output", "./run", "--validate", "cat >validate", "../probe"];
    let run = ["run", "-r", "1", "-o", "r.swell", "--as-root"];
    sudo.stillwell(&[&run[..], &words[2..]].concat()).ends_with(0);
    sudo.stillwell(&["load", "1", "--as-root", "--", "sh", "-c", "../probe >load"]).ends_with(0);
    for file in ["validate", "load"] {
        let printed = sudo.0.read(&format!("home/{file}"));
        assert!(
            printed.starts_with("uid=0(root) gid=0(root) groups=0(root)\n/root root root "),
            "{printed}"
        );
    }
}

/// The counters are opened, and the priority is set, before root is given up.
#[test]
fn without_root_the_runs_keep_priority_and_counters() {
    let Some(sudo) = Sudo::new(Database::Files) else { return };
    let columns = |options: &[&str]| {
        std::fs::remove_file(sudo.0.path("home/r.swell")).ok();
        std::fs::remove_file(sudo.0.path("home/nice")).ok();
        let run = ["run", "-r", "2", "--metrics", "all", "-o", "r.swell", "--output", "./nice"];
        sudo.stillwell(&[&run[..], options, &["nice"]].concat()).ends_with(0);
        let record = crate::bench::Record::read(&sudo.0.path("home/r.swell"));
        let n_counts =
            record.rows.iter().filter(|row| row.get("run_queue_wait_ns").is_some()).count();
        (record.header["columns"].clone(), n_counts, sudo.0.read("home/nice"))
    };
    assert_eq!(columns(&[]), columns(&["--as-root"]));
}

#[test]
fn a_command_that_needs_root_is_explained() {
    let Some(sudo) = Sudo::new(Database::Files) else { return };
    let run = ["run", "-r", "1", "-o", "r.swell", "cat /etc/sudoers"];
    sudo.stillwell(&run)
        .ends_with(2)
        .says(&["the commands ran as user 54321, who called sudo; --as-root runs them as root"]);
}

/// A user who may only start the guardian can tune and isolate, and gets no other right.
#[test]
fn a_rule_for_the_guardian_alone_is_enough_to_tune() {
    let Some(sudo) = Sudo::new(Database::Files) else { return };
    let rule = format!(
        "Defaults !pam_acct_mgmt\nann ALL=(root) NOPASSWD: {} system guard *\n",
        sudo.0.path("stillwell-copy").display()
    );
    sudo.0.write("etc/sudoers", &rule);
    assert_ne!(sudo.call(&["true"]).code, Some(0));
    let run = ["run", "-r", "2", "-o", "r.swell", "--tune=ksm", "--output", "./run", "../probe"];
    sudo.as_ann(&[&["../stillwell-copy"], &run[..]].concat()).ends_with(0);
    assert!(sudo.0.read("home/run").starts_with(IDS));
    // The guardian is for this machine only, whatever the user asks it.
    let home = sudo.0.path("home");
    let guard = ["system", "guard", "--host-root", home.to_str().unwrap()];
    sudo.stillwell(&guard)
        .ends_with(2)
        .says(&["rights of somebody else are for this machine only"]);
}
