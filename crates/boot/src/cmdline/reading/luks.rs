//! The words of systemd-cryptsetup-generator(8), dracut.cmdline(7) and booster(1).

use super::{ENCRYPTED_KEY, NO_TIME, Reading, USUAL_WAIT, Whose, is_uuid, is_yes, of_uuid, uuid_spec};
use crate::cmdline::What;
use crate::crypttab::duration;
use crate::device_spec::{or_beginning, parts, split_tag};
use std::time::Duration;

impl Reading {
    pub(in crate::cmdline) fn luks(&mut self, value: &str) {
        self.line.off = !is_yes(value);
    }

    pub(in crate::cmdline) fn crypttab(&mut self, value: &str) {
        self.line.without_crypttab = !is_yes(value);
    }

    pub(in crate::cmdline) fn uuid(&mut self, value: &str) {
        match value.strip_prefix("keysource:") {
            Some(_) => self.undone(
                &format!("rd.luks.uuid={value}"),
                "a volume that holds other volumes' keys is not supported",
            ),
            None => self.named(&uuid_spec("UUID", value), ""),
        }
    }

    pub(in crate::cmdline) fn partuuid(&mut self, value: &str) {
        self.named(&uuid_spec("PARTUUID", value.trim_start_matches("keysource:")), "");
    }

    pub(in crate::cmdline) fn name(&mut self, value: &str) {
        let value = value.strip_prefix("UUID=").unwrap_or(value);
        let (uuid, name) = split_tag(value).or_else(|| value.split_once('=')).unwrap_or((value, ""));
        self.named(&uuid_spec("UUID", uuid), name);
    }

    pub(in crate::cmdline) fn data(&mut self, value: &str) {
        match of_uuid(value) {
            (Whose::Uuid(uuid), device) if !device.is_empty() => self.data.push((uuid, device)),
            _ => self.undone(&format!("rd.luks.data={value}"), "UUID=DEVICE is needed"),
        }
    }

    pub(in crate::cmdline) fn key(&mut self, value: &str) {
        let (whose, key) = match of_uuid(value) {
            (Whose::All, _) => dracuts_key(value),
            of_uuid => of_uuid,
        };
        let key = match parts(&key)[..] {
            [path, device] => format!("{path}:{}", or_beginning(device)),
            _ => key,
        };
        if parts(&key)[0].ends_with(".gpg") {
            return self.undone(&format!("rd.luks.key={value}"), ENCRYPTED_KEY);
        }
        self.give(format!("rd.luks.key={value}"), whose, What::Key(key));
    }

    pub(in crate::cmdline) fn options(&mut self, value: &str) {
        let (whose, list) = of_uuid(value);
        self.list(format!("rd.luks.options={value}"), whose, &list);
    }

    pub(in crate::cmdline) fn header(&mut self, value: &str) {
        let (whose, header) = of_uuid(value);
        let word = format!("rd.luks.header={value}");
        match whose {
            Whose::All => self.undone(&word, "UUID=PATH is needed"),
            whose => self.give(word, whose, What::Beside(vec![("header".into(), header)])),
        }
    }

    pub(in crate::cmdline) fn discards(&mut self, value: &str) {
        let whose = match value {
            "0" | "no" | "off" | "false" => return,
            "" | "1" | "yes" | "on" | "true" => Whose::All,
            uuid => Whose::Device(uuid_spec("UUID", uuid).trim_end_matches('*').to_owned()),
        };
        let word = if value.is_empty() { String::new() } else { format!("={value}") };
        let discard = What::Beside(vec![("discard".into(), String::new())]);
        self.give(format!("rd.luks.allow-discards{word}"), whose, discard);
    }

    pub(in crate::cmdline) fn timeout(&mut self, value: &str) {
        let timeout = What::Beside(vec![("timeout".into(), value.to_owned())]);
        self.give(format!("rd.luks.timeout={value}"), Whose::All, timeout);
    }

    pub(in crate::cmdline) fn key_tries(&mut self, value: &str) {
        let word = format!("rd.luks.key.tout={value}");
        match duration(value) {
            Some(time) if time > USUAL_WAIT => {
                let timeout = What::Beside(vec![("keyfile-timeout".into(), value.to_owned())]);
                self.give(word, Whose::All, timeout);
            }
            Some(_) => {}
            None => self.undone(&word, NO_TIME),
        }
    }

    pub(in crate::cmdline) fn waits(&mut self, value: &str) {
        match duration(value) {
            Some(time) => self.waits.push(time),
            None => self.undone(&format!("rd.retry={value}"), NO_TIME),
        }
    }

    pub(in crate::cmdline) fn waits_or_forever(&mut self, value: &str) {
        match duration(value) {
            Some(time) => self.waits.push(if time.is_zero() { Duration::MAX } else { time }),
            None => self.undone(&format!("rd.timeout={value}"), NO_TIME),
        }
    }
}

/// dracut's `PATH[:DEVICE[:VOLUME]]`: the volume as `UUID=…`, `luks-…` or a UUID, the parts between empty or not.
fn dracuts_key(value: &str) -> (Whose, String) {
    let value = value.trim_end_matches(':');
    let (key, volume) = match parts(value)[..] {
        [path, device, volume] => (format!("{path}:{device}"), Some(volume)),
        [path, volume] if path.ends_with(':') => (path.to_owned(), Some(volume)),
        _ => match value.rsplit_once(':').filter(|(_, last)| last.starts_with("luks-") || is_uuid(last)) {
            Some((key, volume)) => (key.to_owned(), Some(volume)),
            None => (value.to_owned(), None),
        },
    };
    let whose = |volume| Whose::Device(uuid_spec("UUID", volume).trim_end_matches('*').to_owned());
    (volume.map_or(Whose::All, whose), key.trim_end_matches(':').to_owned())
}
