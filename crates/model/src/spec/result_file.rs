//! The file of `-o`. Its name chooses the format: a record, or another program's.

use std::path::{Path, PathBuf};

use crate::spec::workers::SessionOptions;

impl SessionOptions {
    /// Moves the file of `-o` to the exports if its name asks for a format other than a record. The second value is
    /// this file.
    pub fn by_suffix(&self) -> (Self, Option<PathBuf>) {
        let mut options = self.clone();
        let Some(path) = &self.output.record else { return (options, None) };
        let Some((format, text)) = format_of(path).zip(path.to_str()) else {
            return (options, None);
        };
        options.output.record = None;
        options.output.exports.export.extend([format.into(), text.into()]);
        (options, Some(path.clone()))
    }
}

/// The export that a file name asks for; `None` for a record.
fn format_of(path: &Path) -> Option<&'static str> {
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    let plain = if is_packed { Path::new(path.file_stem()?) } else { path };
    match plain.extension()?.to_str()? {
        "json" => Some("pyperf"),
        "csv" => Some("csv"),
        "md" => Some("markdown"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_format() {
        for (name, format) in [
            ("x.json", Some("pyperf")),
            ("a.b/x.json.gz", Some("pyperf")),
            ("x.csv", Some("csv")),
            ("x.md", Some("markdown")),
            ("x.swell", None),
            ("x", None),
            (".json", None),
            ("x.gz", None),
        ] {
            assert_eq!(format_of(Path::new(name)), format, "{name}");
            let mut options = SessionOptions::default();
            options.output.record = Some(name.into());
            let (changed, file) = options.by_suffix();
            assert_eq!(file.is_some(), format.is_some(), "{name}");
            assert_eq!(changed.output.record.is_none(), format.is_some(), "{name}");
            let export = format.map(|format| vec![format.to_owned(), name.to_owned()]);
            assert_eq!(changed.output.exports.export, export.unwrap_or_default(), "{name}");
        }
    }
}
