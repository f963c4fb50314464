//! What runs the programs of `workloads/parsec3.toml`, with a `parsecmgmt` that does as PARSEC's
//! does: it starts a program behind pipes, and does not look at how that ended.

use daos_testing::Place;
use std::path::Path;
use std::process::Command;

const FAKE: &str = r#"#!/bin/bash
while [ "$1" ]; do
    case $1 in
    -p) package=$2 ;;
    -s) submit=$2 ;;
    -d) rundir=$2 ;;
    -k) keep=yes ;;
    esac
    shift
done
parsec=$(dirname "$(dirname "$0")")
binary=$parsec/$package
[ -x "$binary" ] || { echo "[PARSEC] Error: Binary '$binary' cannot be found."; exit 1; }
cmd=$(echo "${submit}" | awk '{print $1}')
which ${cmd} >/dev/null || { echo "[PARSEC] Error: Cannot find file '${submit}'."; exit 1; }
run=${rundir:-$parsec}/pkgs/apps/$package/run
if [ "$keep" ]; then
    [ -d "$run" ] || { echo "[PARSEC] Error: Cannot keep run directory."; exit 1; }
    cd "$run"
else
    rm -rf ${run} && mkdir -p ${run} && cd "$run" && echo rows >input
    echo unpacked >>$parsec/log
    [ $package = torn ] && echo "/bin/tar: Error is not recoverable: exiting now" >&2
fi
args="input output"
eval cmd="\"${submit} ${binary} ${args}\""
(eval ${cmd} 2>&1) 2>&1 | tee ${run}/benchmark.out | tee /dev/null
echo "[PARSEC] Done."
exit 0
"#;

/// A PARSEC with these programs, each a script.
fn parsec(programs: &[(&str, &str)]) -> Place {
    let place = Place::new("daos-eval");
    let scripts = programs.iter().map(|&(name, script)| (name.to_owned(), script));
    for (name, text) in scripts.chain([("bin/parsecmgmt".to_owned(), FAKE)]) {
        let path = place.path("parsec").join(name);
        // Not written by ourselves: a file can't be executed while anybody may write it, as
        // what another test starts at this moment could.
        let mut write = Command::new("sh");
        write.args(["-ec", "mkdir -p \"${0%/*}\"; printf %s \"$1\" >\"$0\"; chmod +x \"$0\""]);
        assert!(write.arg(path).arg(text).status().unwrap().success());
    }
    std::fs::create_dir(place.path("work")).unwrap();
    place
}

/// What a word of the script comes to: its status, and the last that it said.
fn ran(place: &Place, word: &str, package: &str) -> (Option<i32>, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/programs/parsec");
    let path = format!("{}:{}", place.path("parsec/bin").display(), env!("PATH"));
    let mut command = Command::new("sh");
    command.arg(script).args([word, package]).env("PATH", path);
    let output = command.current_dir(place.path("work")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), said.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn a_program_that_fails_is_told() {
    let place = parsec(&[
        ("good", "#!/bin/sh\ncat $1; echo \"done $#\""),
        ("bad", "#!/bin/sh\necho no such input >&2; exit 3"),
        ("killed", "#!/bin/sh\nkill -9 $$"),
    ]);
    let ran = |package| {
        ran(&place, "unpack", package);
        ran(&place, "run", package)
    };
    assert_eq!(ran("good"), (Some(0), "done 2".into()));
    assert_eq!(ran("bad"), (Some(3), "no such input".into()));
    assert_eq!(ran("killed"), (Some(137), "Killed".into()));
    let (status, said) = ran("missing");
    assert!(status == Some(1) && said.contains("missing' cannot be found"), "{said}");
}

#[test]
fn an_input_that_is_not_whole_is_told() {
    let place = parsec(&[("torn", "#!/bin/sh\n")]);
    let (status, said) = ran(&place, "unpack", "torn");
    assert!(status == Some(1) && said.contains("tar: Error is not"), "{said}");
    let (status, said) = ran(&place, "unpack", "missing");
    assert!(status == Some(1) && said.contains("missing' cannot be found"), "{said}");
}

#[test]
fn an_input_is_unpacked_once_where_the_program_runs() {
    let place = parsec(&[("sums", "#!/bin/sh\necho more >>$2; cat $1 $2 | wc -l")]);
    let (status, said) = ran(&place, "run", "sums");
    assert!(status == Some(1) && said.contains("Cannot keep"), "{said}");
    assert_eq!(ran(&place, "unpack", "sums").0, Some(0));
    // Setting up runs nothing, and what a run leaves is there in the next.
    assert_eq!(ran(&place, "run", "sums"), (Some(0), "2".into()));
    assert_eq!(ran(&place, "run", "sums"), (Some(0), "3".into()));
    let log = std::fs::read_to_string(place.path("parsec/log")).unwrap();
    assert_eq!(log, "unpacked\n");
    assert!(!place.path("parsec/pkgs").exists());
}
