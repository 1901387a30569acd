//! Permutes the arguments of a link command.
//!
//! A linker accepts objects in any order. But it searches a library only for symbols that the objects *before* it lack,
//! and many options apply to the arguments after them. So objects only change places within a row without libraries or
//! such options.

use stats::Stream;

/// Names of compilers and linkers, without target and version.
const COMPILERS: [&str; 6] = ["cc", "gcc", "c++", "g++", "clang", "clang++"];
const LINKERS: [&str; 7] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "lld", "mold"];

/// Options that keep a compiler from linking. They mean something else to a linker.
const NO_LINK: [&str; 6] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];

/// Options whose value, in the next argument, may look like an object.
const WITH_VALUE: [&str; 19] = [
    "-o",
    "--output",
    "-MT",
    "-MQ",
    "-MF",
    "-MJ",
    "-I",
    "-L",
    "-D",
    "-U",
    "-isystem",
    "-include",
    "-l",
    "-z",
    "-R",
    "-Xlinker",
    "-Xclang",
    "-Xassembler",
    "-Xpreprocessor",
];

/// Prefixes of options that end a row: they name libraries or apply to later arguments. `--` also matches harmless
/// options such as `--sysroot`, which only shortens rows.
const BETWEEN: [&str; 9] = ["-l", "-Wl,", "-Xlinker", "--", "-B", "-(", "-)", "-x", "-R"];

/// Prefixes of C's start files, which must stay first and last: `crt1.o`, `Scrt1.o`, `crtbeginS.o`, `crtn.o`,
/// `rsend.o`, ….
const START_FILES: [&str; 8] = ["crt", "Scrt", "gcrt", "Mcrt", "rcrt", "grcrt", "rsbegin", "rsend"];

/// Whether a program of this name compiles or links: `cc`, `g++-12`, `aarch64-linux-gnu-ld`.
pub fn is_compiler(name: &str) -> bool {
    let name = without_target_and_version(name);
    COMPILERS.contains(&name) || LINKERS.contains(&name)
}

/// A new order: the argument at `order[i]` goes to place `i`. `arguments` begin with the program's name.
pub fn order(arguments: &[impl AsRef<[u8]>], seed: u64) -> Vec<usize> {
    let words: Vec<&[u8]> = arguments.iter().map(AsRef::as_ref).collect();
    let mut order: Vec<usize> = (0..words.len()).collect();
    if !links(&words) {
        return order;
    }
    let mut stream = Stream::new(seed);
    for places in rows_of_objects(&words) {
        let from: Vec<usize> =
            stream.permutation(places.len()).iter().map(|&i| places[i]).collect();
        places.iter().zip(from).for_each(|(&place, from)| order[place] = from);
    }
    order
}

pub fn can_change(arguments: &[impl AsRef<[u8]>]) -> bool {
    let words: Vec<&[u8]> = arguments.iter().map(AsRef::as_ref).collect();
    links(&words) && !rows_of_objects(&words).is_empty()
}

fn links(words: &[&[u8]]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let program = String::from_utf8_lossy(file_name(program));
    let is_linker = LINKERS.contains(&without_target_and_version(&program));
    is_linker || !arguments.iter().any(|word| NO_LINK.iter().any(|no| no.as_bytes() == *word))
}

/// Rows of objects, as places in the command.
fn rows_of_objects(words: &[&[u8]]) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new()];
    let mut belongs_to_option = false;
    for (place, word) in words.iter().enumerate().skip(1) {
        if std::mem::take(&mut belongs_to_option) {
            continue;
        }
        belongs_to_option = WITH_VALUE.iter().any(|option| option.as_bytes() == *word);
        if is_object(word) {
            rows.last_mut().expect("there is one from the beginning").push(place);
        } else if ends_row(word) {
            rows.push(Vec::new());
        }
    }
    rows.retain(|row| row.len() > 1);
    rows
}

fn is_object(word: &[u8]) -> bool {
    let name = file_name(word);
    let is_start_file = START_FILES.iter().any(|start| name.starts_with(start.as_bytes()));
    !word.starts_with(b"-") && !is_start_file && (name.ends_with(b".o") || name.ends_with(b".obj"))
}

/// Whether an argument ends a row. Libraries and files of unknown type do.
fn ends_row(word: &[u8]) -> bool {
    !word.starts_with(b"-") || BETWEEN.iter().any(|option| word.starts_with(option.as_bytes()))
}

fn file_name(word: &[u8]) -> &[u8] {
    word.rsplit(|&byte| byte == b'/').next().unwrap_or(word)
}

fn without_target_and_version(name: &str) -> &str {
    let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let name = name.rsplit_once('-').filter(|(_, end)| is_version(end)).map_or(name, |(it, _)| it);
    name.rsplit('-').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(line: &str, seed: u64) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        let order = order(&words, seed);
        order.iter().map(|&from| words[from]).collect::<Vec<_>>().join(" ")
    }

    /// `expected`: for each place, all words that some seed puts there, or `_` for a word that always stays.
    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let mut seen = vec![std::collections::BTreeSet::new(); words.len()];
        for seed in 0..200 {
            let line = shuffled(line, seed);
            assert_eq!(line, shuffled(&words.join(" "), seed), "the same seed, the same order");
            line.split(' ').zip(&mut seen).for_each(|(word, seen)| {
                seen.insert(word.to_owned());
            });
        }
        let rows = seen.iter().map(|seen| match seen.len() {
            1 => "_".to_owned(),
            _ => seen.iter().cloned().collect::<Vec<_>>().join("+"),
        });
        assert_eq!(rows.collect::<Vec<_>>().join(" "), expected, "{line}");
        assert_eq!(can_change(&words), expected.contains('+'), "{line}");
    }

    #[test]
    fn objects_change_places_with_each_other() {
        check("cc -O2 a.o b.o -g c.o", "_ _ a.o+b.o+c.o a.o+b.o+c.o _ a.o+b.o+c.o");
        check("cc a.o -o prog.o x/b.obj", "_ a.o+x/b.obj _ _ a.o+x/b.obj");
        check("/usr/bin/cc -MMD -MT t.o a.o b.rcgu.o", "_ _ _ _ a.o+b.rcgu.o a.o+b.rcgu.o");
        check("ld -shared -E a.o b.o", "_ _ _ a.o+b.o a.o+b.o");
    }

    #[test]
    fn nothing_moves_past_a_library_or_an_option_of_the_linker() {
        check("cc a.o b.o -lm c.o d.o", "_ a.o+b.o a.o+b.o _ c.o+d.o c.o+d.o");
        check("cc a.o x.a b.o", "_ _ _ _");
        check("cc a.o x.so.1 b.o", "_ _ _ _");
        check("cc a.o -Wl,--whole-archive b.o", "_ _ _ _");
        check("cc a.o -Xlinker b.o c.o", "_ _ _ _ _");
        check("ld a.o --start-group b.o --end-group", "_ _ _ _ _");
        check("cc a.o main.c b.o", "_ _ _ _");
        check("ld -l :x.o a.o -o b.o", "_ _ _ _ _ _");
    }

    #[test]
    fn start_files_stay() {
        check("ld /l/crt1.o /l/crti.o crtbeginS.o a.o b.o crtn.o", "_ _ _ _ a.o+b.o a.o+b.o _");
    }

    #[test]
    fn commands_without_a_link_are_untouched() {
        check("cc -c a.o b.o", "_ _ _ _");
        check("g++-12 -E a.o b.o", "_ _ _ _");
        check("x86_64-linux-gnu-ld -S a.o b.o", "_ _ a.o+b.o a.o+b.o");
        check("cc", "_");
        assert_eq!(order(&[] as &[&str], 1), [] as [usize; 0]);
    }

    #[test]
    fn every_order_comes_up() {
        let orders = (0..500).map(|seed| shuffled("cc a.o b.o c.o d.o", seed));
        assert_eq!(orders.collect::<std::collections::BTreeSet<_>>().len(), 24);
    }

    #[test]
    fn compilers_by_name() {
        for name in ["cc", "gcc-12", "x86_64-linux-gnu-g++-13", "clang++-14", "ld", "ld.lld"] {
            assert!(is_compiler(name), "{name}");
        }
        for name in [
            "gcc-ar",
            "x86_64-linux-gnu-gcc-nm-12",
            "c++filt",
            "ldd",
            "ld.so",
            "clang-format",
            "12",
        ] {
            assert!(!is_compiler(name), "{name}");
        }
    }
}
