//! Compiles the eBPF programs and generates their skeleton.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::path::PathBuf;

const SOURCE: &str = "src/bpf/ptwalk.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    SkeletonBuilder::new()
        .source(SOURCE)
        .clang_args(["-Wall", "-Werror"])
        .build_and_generate(out.join("ptwalk.skel.rs"))
        .expect("clang compiles the eBPF programs (`make setup` installs what it needs)");
}
