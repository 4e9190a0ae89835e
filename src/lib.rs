//! **显卡够用吗 · Enough GPU**: will my training run fit, on what card, and should I rent or buy?
//!
//! A map of the house, from the ground up. Arrows point down only; a test holds them.
//!
//! - [`units`]: bytes, FLOPs, seconds, money.
//! - [`catalog`]: what exists: cards, models, rental offers, free notebooks, presets, with sources and dates.
//! - [`project`]: what the user said, checked field by field.
//! - [`network`]: what a model is made of, as a program of layers over named tensors.
//! - [`step`]: one training step run over that program, symbolically: who is alive when, in bytes.
//! - [`estimate`]: project and card in, memory and time out, each with an error band.
//! - [`advise`]: verdict, fixes, recommended cards, rent or buy.
//! - `text`, `app` (wasm only): every sentence in Chinese and English, and the page.
#![forbid(unsafe_code)]

pub mod advise;
pub mod catalog;
pub mod estimate;
pub mod network;
pub mod project;
pub mod step;
pub mod text;
pub mod units;

#[cfg(target_arch = "wasm32")]
pub mod app;

/// The examples of the README are compiled and run like those of the library.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
