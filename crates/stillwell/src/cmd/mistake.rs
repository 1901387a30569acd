//! Errors in one line.

/// What, where and why, with nothing twice: the causes of an error, without those that the text before contains.
pub fn in_words(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain() {
        // SQLite's own code: the message before it says the same in words.
        if cause.downcast_ref::<rusqlite::ffi::Error>().is_some() && !out.is_empty() {
            continue;
        }
        let text = cause.to_string();
        if out.is_empty() {
            out = text;
        } else if !out.ends_with(&text) {
            out = format!("{out}: {text}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn nothing_is_said_twice() {
        let error = anyhow!("damaged").context("a.json").context("cannot add a.json");
        assert_eq!(in_words(&error), "cannot add a.json: damaged");
        let failed = rusqlite::Connection::open_in_memory().unwrap().execute("no SQL", []);
        let text = in_words(&anyhow::Error::new(failed.unwrap_err()).context("cannot read h.db"));
        assert!(text.starts_with("cannot read h.db: ") && !text.contains("code"), "{text}");
    }
}
