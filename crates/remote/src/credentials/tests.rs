//! Logins in URLs, in the environment and in the files of other tools. The environment belongs to a
//! whole process, so these tests re-execute themselves, each time with another one.

use super::lent::Lender;
use super::*;
use std::path::Path;
use std::process::Command;

#[test]
fn a_login_is_taken_out_of_the_url() {
    let mut url = Url::parse("https://me%40home:p%2Fs%25s%@host:8443/x?y").unwrap();
    let login = Login::take_from(&mut url).unwrap();
    assert_eq!((login.user.as_str(), login.password.expose()), ("me@home", &b"p/s%s%"[..]));
    assert_eq!(url.as_str(), "https://host:8443/x?y");
    assert!(Login::take_from(&mut url).is_none());
    let mut url = Url::parse("https://:p@host/").unwrap();
    assert_eq!(Login::take_from(&mut url).unwrap().password.expose(), b"p");
    let mut url = Url::parse("https://name@host/").unwrap();
    assert!(Login::take_from(&mut url).unwrap().password.is_empty());
    assert_eq!(url.as_str(), "https://host/");
}

#[test]
fn percent_signs_without_digits_stay() {
    for (text, bytes) in
        [("%", "%"), ("%4", "%4"), ("%zz%41", "%zzA"), ("%+1", "%+1"), ("a%2fb", "a/b"), ("", "")]
    {
        assert_eq!(decoded(text).expose(), bytes.as_bytes(), "{text}");
    }
}

#[test]
fn a_web_server_gets_what_url_and_netrc_say() {
    if tell(|| {
        let mut url = Url::parse(&env::var("URL").unwrap()).unwrap();
        let shown = |login: Login| format!("{}:{}", login.user, text_of(&login.password));
        match Login::for_web(&mut url) {
            Ok(login) => login.map_or("nobody".to_owned(), shown),
            Err(cause) => cause.to_string(),
        }
    }) {
        return;
    }
    let home = Home::new("netrc");
    home.write(".netrc", "machine h login me password one\nmachine h login you password two\n");
    let other = home.write("other", "machine h login they password three\n");
    fs::create_dir_all(home.0.join("odd/.netrc")).unwrap();
    let (home, odd, none) = (home.text(""), home.text("odd"), home.text("none"));
    let told = |url: &str, environment: &[(&str, &str)]| {
        let test = "credentials::tests::a_web_server_gets_what_url_and_netrc_say";
        told(test, &[environment, &[("URL", url)]].concat())
    };
    let usual: &[(&str, &str)] = &[("HOME", &home), ("NETRC", "")];
    for (url, login) in [
        ("http://h/", "me:one"),
        ("http://me@h/", "me:one"),
        ("http://you@h/", "you:two"),
        ("http://you:three@h/", "you:three"),
        ("http://else@h/", "else:"),
        ("http://elsewhere/", "nobody"),
    ] {
        assert_eq!(told(url, usual), login, "{url}");
    }
    assert_eq!(told("http://h/", &[("HOME", &home), ("NETRC", &other)]), "they:three");
    assert_eq!(told("http://h/", &[("HOME", &none)]), "nobody");
    assert_eq!(told("http://h/", &[]), "nobody");
    // A file named explicitly must exist, and an existing file must be readable.
    assert!(told("http://h/", &[("HOME", &home), ("NETRC", &none)]).contains("none cannot be read"));
    assert!(told("http://h/", &[("HOME", &odd)]).contains(".netrc cannot be read"));
}

#[test]
fn a_store_gets_what_the_environment_and_amazons_files_say() {
    if tell(|| {
        let login = set("LOGIN").map(|user| Login { user, password: Secret::copy_from(b"password") });
        let access = match Access::find(login) {
            Ok(access) => access,
            Err(cause) => return cause.to_string(),
        };
        let keys = match access.keys {
            KeySource::Nobody => "nobody".to_owned(),
            KeySource::Lent(Lender::WebIdentity { service, token_file, role, session }, _) => {
                format!("{service} {token_file} {role} {session}")
            }
            KeySource::Lent(lender, _) => format!("{lender:?}"),
            KeySource::Fixed(keys) => {
                format!("{} {} {}", keys.id, text_of(&keys.secret), keys.token().unwrap_or("-"))
            }
        };
        let [region, endpoint] = [access.region, access.endpoint].map(|part| part.unwrap_or("-".into()));
        format!("{keys} {region} {endpoint}")
    }) {
        return;
    }
    let home = Home::new("aws");
    fs::create_dir_all(home.0.join(".aws")).unwrap();
    let pair = |id: &str| format!("aws_access_key_id = {id}\naws_secret_access_key = s{id}\n");
    home.write(
        ".aws/credentials",
        &format!("[default]\n{}[lab]\n{}aws_session_token = t\n", pair("1"), pair("2")),
    );
    let config = home.write(
        ".aws/config",
        "[default]\nregion = r\n[profile lab]\nregion = l\nendpoint_url = http://lab\n[profile empty]\n",
    );
    let (home, none) = (home.text(""), home.text("none"));
    let told = |environment: &[(&str, &str)]| {
        told("credentials::tests::a_store_gets_what_the_environment_and_amazons_files_say", environment)
    };
    let lab = ("AWS_PROFILE", "lab");
    let (id, secret, token) =
        (("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "y"), ("AWS_SESSION_TOKEN", "z"));
    let (token_file, role) = (("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"), ("AWS_ROLE_ARN", "arn"));
    let half = "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set";
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "1 s1 - r -"),
        (&[("AWS_PROFILE", "")], "1 s1 - r -"),
        (&[lab], "2 s2 t l http://lab"),
        (&[("AWS_DEFAULT_PROFILE", "lab")], "2 s2 t l http://lab"),
        (&[lab, ("LOGIN", "me")], "me password - l http://lab"),
        // The environment takes precedence.
        (&[lab, id, secret], "x y - l http://lab"),
        (&[lab, id, secret, token], "x y z l http://lab"),
        (&[lab, id], half),
        (&[lab, secret], half),
        (&[lab, ("AWS_REGION", "x")], "2 s2 t x http://lab"),
        (&[lab, ("AWS_DEFAULT_REGION", "x")], "2 s2 t x http://lab"),
        (&[lab, ("AWS_ENDPOINT", "https://x")], "2 s2 t l https://x"),
        (&[("AWS_ENDPOINT_URL", "http://x"), ("AWS_ENDPOINT_URL_S3", "http://y")], "1 s1 - r http://y"),
        (&[("AWS_PROFILE", "no")], "there is no profile \"no\" in ~/.aws"),
        (&[("AWS_PROFILE", "no"), ("LOGIN", "me")], "me password - - -"),
        (&[("AWS_PROFILE", "no"), ("AWS_SKIP_SIGNATURE", "true")], "nobody - -"),
        (&[("AWS_SKIP_SIGNATURE", "perhaps")], "AWS_SKIP_SIGNATURE is neither true nor false"),
        (&[("AWS_PROFILE", "empty")], "there are no credentials for it"),
        (&[("HOME", &none)], "there are no credentials for it"),
        (&[("AWS_SHARED_CREDENTIALS_FILE", &config)], "there are no credentials for it"),
        // Services that issue keys.
        (&[token_file, role], "https://sts.r.amazonaws.com /t arn WebIdentitySession r -"),
        (
            &[token_file, role, ("AWS_ROLE_SESSION_NAME", "me"), ("AWS_ENDPOINT_URL_STS", "https://sts")],
            "https://sts /t arn me r -",
        ),
        (&[token_file, role, id, secret], "x y - r -"),
        (
            &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2")],
            "Container { url: \"http://169.254.170.2/v2\", token_file: None } r -",
        ),
        (
            &[
                ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1"),
                ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/t"),
            ],
            "Container { url: \"http://169.254.170.23/v1\", token_file: Some(\"/t\") } r -",
        ),
        (
            &[("AWS_METADATA_ENDPOINT", "http://m"), ("AWS_IMDSV1_FALLBACK", "1")],
            "Instance { service: \"http://m\", without_token: true } r -",
        ),
    ];
    for (environment, expected) in cases {
        assert_eq!(told(&[&[("HOME", home.as_str())], *environment].concat()), *expected, "{environment:?}");
    }
    let missing = told(&[("HOME", &home), ("AWS_CONFIG_FILE", &none)]);
    assert!(missing.contains("none cannot be read"), "{missing}");
}

/// The output of `test` in an environment with only these variables.
fn told(test: &str, variables: &[(&str, &str)]) -> String {
    let mut inside = Command::new(env::current_exe().unwrap());
    inside.args(["--exact", test, "--nocapture"]).env_clear().envs(variables.iter().copied());
    let said = inside.env(INSIDE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let told = text.lines().find_map(|line| line.split_once("told: "));
    told.unwrap_or_else(|| panic!("{said:?}")).1.to_owned()
}

/// Whether this is the process with that environment; if so, it prints what it finds.
fn tell(found: impl FnOnce() -> String) -> bool {
    let is_inside = env::var_os(INSIDE).is_some();
    if is_inside {
        println!("told: {}", found());
    }
    is_inside
}

fn text_of(secret: &Secret) -> String {
    String::from_utf8(secret.expose().to_vec()).unwrap()
}

/// A home directory with files, removed with the test.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("keyway-home-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn text(&self, name: impl AsRef<Path>) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.text(name)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const INSIDE: &str = "KEYWAY_TEST_ENVIRONMENT";
