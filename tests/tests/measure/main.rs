//! The report page, in a browser.

mod page;
