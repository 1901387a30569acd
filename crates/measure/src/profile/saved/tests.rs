use super::*;
use crate::profile::breakdown::fixture::made_up;

#[test]
fn a_profile_is_read_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.swell.profile");
    let profile = made_up(4, 0.0);
    profile.write(&path, Readers::Owner).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), profile);
    assert!(profile.write(&path, Readers::Owner).is_err());
}

#[test]
fn a_damaged_profile_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut Profile), why: &str| {
        let path = directory.path().join(why.replace(' ', "-"));
        let mut profile = made_up(4, 0.0);
        change(&mut profile);
        profile.write(&path, Readers::Owner).unwrap();
        let error = format!("{:#}", Profile::read(&path).unwrap_err());
        assert!(error.contains(why), "{error}");
    };
    refused(&|it| it.runs[0].samples.push((99, 1)), "damaged");
    refused(&|it| it.stacks.push(vec![99]), "out of range");
    refused(&|it| it.version = 2, "newer Stillwell");
    let text = directory.path().join("text");
    std::fs::write(&text, "no profile").unwrap();
    assert!(Profile::read(&text).unwrap_err().to_string().contains("is no profile"));
}

#[test]
fn the_profile_is_next_to_its_record() {
    assert_eq!(path_of(Path::new("d/a.swell")), Path::new("d/a.swell.profile"));
    assert_eq!(path_of(Path::new("d/a.swell.profile")), Path::new("d/a.swell.profile"));
}
