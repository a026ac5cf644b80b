//! Keys for a directory bucket (S3 Express One Zone), valid for five minutes.
//!
//! Amazon S3 API Reference, "CreateSession".

use super::{TOKEN, now};
use crate::credentials::{Keys, Lent};
use crate::error::Cause;
use crate::transport::{Request, Transport};
use http::Method;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

pub(super) struct Sessions {
    url: Url,
    lent: Lent,
}

impl Sessions {
    pub(super) fn new(url: Url) -> Self {
        Self { url, lent: Lent::new(Duration::from_secs(60)) }
    }

    pub(super) async fn keys(
        &self,
        transport: &Transport,
        signer: &super::Signer,
        keys: &Keys,
    ) -> Result<Arc<Keys>, Cause> {
        let fetch = async {
            let request = signer.sign(Request::new(Method::GET, self.url.clone()), keys, TOKEN, now());
            let answer = transport.text(request).await?;
            let (keys, _) = Keys::from_xml(&answer)?;
            Ok((keys, LENT_FOR))
        };
        self.lent.get(fetch).await
    }
}

const LENT_FOR: Duration = Duration::from_secs(300);
