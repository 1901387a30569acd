//! Compiles the readers' module of the sources.
fn main() {
    println!("cargo::rustc-check-cfg=cfg(stillwell_fuzz)");
    println!("cargo::rustc-cfg=stillwell_fuzz");
}
