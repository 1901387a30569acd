//! Function names: demangled, and the same in two builds of a program.

use syscalls::Sysno;

/// Suffixes of GCC and LLVM for copies and parts of a function, before a number.
const CLONES: [&str; 9] = [
    ".constprop.",
    ".isra.",
    ".part.",
    ".cold.",
    ".lto_priv.",
    ".llvm.",
    ".clone.",
    ".ipa_ra.",
    ".localalias.",
];
/// Suffixes that may have no number.
const PARTS: [&str; 3] = [".cold", ".localalias", ".part"];

/// Whether a mapping of code is a file, not code made at run time or by the kernel (`[vdso]`).
pub fn is_file(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/dev/")
}

/// A function's name in the source, without Rust's hash and the suffixes of clones.
pub fn readable(symbol: &str) -> String {
    let symbol = symbol.split('@').next().filter(|it| !it.is_empty()).unwrap_or(symbol);
    let base = without_clones(symbol);
    if let Ok(rust) = rustc_demangle::try_demangle(base) {
        // The alternate form omits the hash.
        return format!("{rust:#}");
    }
    if !base.starts_with("_Z") {
        return base.into();
    }
    let demangled = cpp_demangle::Symbol::new(base).ok().and_then(|it| it.demangle().ok());
    demangled.unwrap_or_else(|| base.into())
}

fn without_clones(symbol: &str) -> &str {
    let mut rest = symbol;
    loop {
        let shorter = PARTS.iter().find_map(|part| rest.strip_suffix(part)).or_else(|| {
            let (before, number) = rest.rsplit_once('.')?;
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let with_dot = &rest[..before.len() + 1];
            let clone = CLONES.iter().find_map(|clone| with_dot.strip_suffix(clone));
            clone.filter(|_| is_number)
        });
        match shorter.filter(|shorter| !shorter.is_empty()) {
            Some(shorter) => rest = shorter,
            None => return rest,
        }
    }
}

pub fn system_call(number: u64) -> Option<&'static str> {
    Some(Sysno::new(usize::try_from(number).ok()?)?.name())
}

pub fn file_name(path: &str) -> &str {
    let name = path.rsplit('/').next().filter(|name| !name.is_empty());
    // The kernel adds this to the path of a removed file.
    name.unwrap_or(path).trim_end_matches(" (deleted)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_have_the_name_of_their_function() {
        for symbol in [
            "work",
            "work.constprop.0",
            "work.isra.0.constprop.12",
            "work.part.0.cold",
            "work.cold",
            "work.llvm.1234567890",
            "work@@GLIBC_2.2.5",
        ] {
            assert_eq!(readable(symbol), "work");
        }
        // A static variable's function, or a name that only looks like one.
        assert_eq!(readable("work.7"), "work.7");
        assert_eq!(readable(".constprop.0"), ".constprop.0");
        assert_eq!(readable("@"), "@");
    }

    #[test]
    fn rust_names_lose_their_hash() {
        assert_eq!(
            readable("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"),
            "core::fmt::Formatter::pad"
        );
        assert_eq!(readable("_ZN3app4work17hfedcba9876543210E.llvm.12"), "app::work");
        assert_eq!(readable("_RNvCs1234_7mycrate4work"), "mycrate::work");
    }

    #[test]
    fn cpp_names_keep_their_parameters() {
        assert_eq!(readable("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(readable("_ZN3foo3barEi.isra.0"), "foo::bar(int)");
        assert_eq!(readable("_Zwrong"), "_Zwrong");
    }

    #[test]
    fn a_system_call_has_the_name_of_this_machine() {
        assert_eq!(system_call(libc::SYS_getppid.cast_unsigned()), Some("getppid"));
        assert_eq!(system_call(u64::MAX), None);
    }

    #[test]
    fn a_file_is_called_by_its_last_part() {
        assert_eq!(file_name("/usr/lib/libc.so.6"), "libc.so.6");
        assert_eq!(file_name("/tmp/a.out (deleted)"), "a.out");
        assert_eq!(file_name("[vdso]"), "[vdso]");
    }
}
