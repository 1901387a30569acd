//! `-L VAR @FILE`: the values of a parameter, one on each line of a file.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use host::user_files::read_text;
use model::spec::Verb;
use model::spec::run::ArmOptions;

/// Puts the lines of files in the place of `@FILE`.
///
/// # Errors
/// A file cannot be read, or has no value.
pub fn read(verb: &mut Verb) -> Result<()> {
    match verb {
        Verb::Run(verb) => fill_in(&mut verb.spec.arms),
        Verb::Race(verb) => fill_in(&mut verb.arms),
        _ => Ok(()),
    }
}

fn fill_in(options: &mut ArmOptions) -> Result<()> {
    for list in options.parameter_lists.chunks_mut(2) {
        let [name, values] = list else { continue };
        if let Some(literal) = values.strip_prefix("\\@") {
            *values = format!("@{literal}");
        } else if let Some(path) = values.strip_prefix('@') {
            let text = read_text(Path::new(path)).with_context(|| {
                format!("cannot read {path} with the values of {name:?}; a value that begins with @ is written \\@")
            });
            *values = list_of(path, &text?)?;
        }
    }
    Ok(())
}

/// The list as it would be on the command line. Empty lines do not count.
fn list_of(path: &str, text: &str) -> Result<String> {
    // Editors of other systems begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut values = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let value = line.trim();
        ensure!(
            !value.ends_with('\\'),
            "{path}:{number}: a value cannot end with a backslash, because `\\,` is a comma"
        );
        values.extend((!value.is_empty()).then(|| value.replace(',', "\\,")));
    }
    ensure!(!values.is_empty(), "there is no value in {path}");
    Ok(values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_list() {
        assert_eq!(list_of("f", "\u{feff}1\r\n\n a,b \nc\n").unwrap(), "1,a\\,b,c");
        let error = list_of("f", "a\nb\\\n").unwrap_err().to_string();
        assert_eq!(error, "f:2: a value cannot end with a backslash, because `\\,` is a comma");
        assert_eq!(list_of("f", "\n \n").unwrap_err().to_string(), "there is no value in f");
    }
}
