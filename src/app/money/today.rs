//! The day in the browser, for the age of prices.

use crate::units::Date;
use web_sys::js_sys;

/// Today.
pub(in crate::app) fn today() -> Date {
    let now = js_sys::Date::new_0();
    Date { year: i64::from(now.get_full_year()), month: i64::from(now.get_month()) + 1, day: i64::from(now.get_date()) }
}
