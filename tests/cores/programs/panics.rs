// SPDX-License-Identifier: GPL-3.0-or-later
//! Panics in the way that its argument names.
use std::collections::HashMap;

#[inline(never)]
fn literal() {
    panic!("the queue is closed")
}

#[inline(never)]
fn formatted(n: usize) {
    panic!("shard {} of {} is gone", n, n + 47)
}

#[inline(never)]
fn lines(n: usize) {
    assert_eq!(n, 800, "world size")
}

#[inline(never)]
fn unwrapped(map: &HashMap<String, usize>) -> usize {
    *map.get("x").unwrap()
}

#[inline(never)]
fn expected(text: &str) -> i32 {
    text.parse::<i32>().expect("rank must be a number")
}

#[inline(never)]
fn outside(list: &[u8], n: usize) -> u8 {
    list[n]
}

#[inline(never)]
fn owned() {
    std::panic::panic_any(String::from("a text of its own"))
}

#[inline(never)]
fn number() {
    std::panic::panic_any(42i32)
}

extern "C" fn no_unwinding() {
    literal()
}

fn hooked(n: usize) {
    std::panic::set_hook(Box::new(|info| {
        eprintln!("{}", info);
        std::process::abort()
    }));
    formatted(n)
}

/// The panic is caught, so it is not why the process ends.
fn caught() {
    let _ = std::panic::catch_unwind(literal);
    std::process::abort()
}

fn main() {
    let n = std::env::args().count();
    let way = std::env::args().nth(1).unwrap();
    match way.as_str() {
        "literal" => literal(),
        "formatted" => formatted(n + 15),
        "lines" => lines(n),
        "unwrapped" => drop(unwrapped(&HashMap::new())),
        "expected" => drop(expected(&way)),
        "outside" => drop(outside(&[1, 2, 3], n + 8)),
        "owned" => owned(),
        "number" => number(),
        "no-unwinding" => no_unwinding(),
        "hooked" => hooked(n),
        "caught" => caught(),
        "thread" => drop(std::thread::spawn(move || formatted(n)).join()),
        _ => {}
    }
}
