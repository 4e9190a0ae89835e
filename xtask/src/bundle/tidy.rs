//! Makes a module smaller, and puts its functions so that they pack well, before it is sorted for the packer. What it does
//! stays as it was.

use std::collections::HashMap;

use super::module::{Instruction, Module};
use crate::shell::Outcome;

/// So many opcodes in a row make two functions alike; a row that more functions than `COMMON` have says nothing.
const ROW: usize = 8;
const COMMON: usize = 300;

/// Leaves out what nobody needs.
pub(super) fn tidy(module: &mut Module) -> Outcome<()> {
    keep_used(module)?;
    merge_same(module)
}

/// Puts functions in an order that packs well.
pub(super) fn put_like_together(module: &mut Module) -> Outcome<()> {
    let order = neighbours(module);
    reorder(module, &order)
}

/// Leaves out functions that nothing names, also imported ones.
pub(super) fn keep_used(module: &mut Module) -> Outcome<()> {
    let mut used = vec![false; module.imported + module.functions.len()];
    let mut open = Vec::new();
    module.change_names(&mut |number| {
        open.push(number);
        number
    })?;
    while let Some(number) = open.pop() {
        let Some(seen @ false) = used.get_mut(number) else { continue };
        *seen = true;
        if let Some(function) = number.checked_sub(module.imported).and_then(|place| module.functions.get(place)) {
            open.extend(function.code.iter().filter_map(Instruction::function));
        }
    }
    let order: Vec<usize> = (0..used.len()).filter(|number| used[*number]).collect();
    let mut numbers = vec![usize::MAX; used.len()];
    for (new, old) in order.iter().enumerate() {
        numbers[*old] = new;
    }
    let mut own = used[module.imported..].iter().copied();
    module.functions.retain(|_| own.next().unwrap_or(true));
    module.keep_imports(&used);
    let mut change = |number: usize| numbers[number];
    module.change_names(&mut change)?;
    module.change_calls(&mut change);
    Ok(())
}

/// Functions that are the same become one, until those that call them differ.
fn merge_same(module: &mut Module) -> Outcome<()> {
    loop {
        let mut first = HashMap::new();
        let own = module.functions.iter().enumerate();
        let same: Vec<usize> = own.map(|(place, function)| *first.entry(function).or_insert(place)).collect();
        if same.iter().enumerate().all(|(place, first)| place == *first) {
            return Ok(());
        }
        let count = module.functions.len();
        let mut change = renumbered(module.imported, &same);
        module.change_names(&mut change)?;
        module.change_calls(&mut change);
        keep_used(module)?;
        if module.functions.len() == count {
            return Ok(());
        }
    }
}

/// The functions in the order of `order`.
fn reorder(module: &mut Module, order: &[usize]) -> Outcome<()> {
    let mut places = vec![usize::MAX; module.functions.len()];
    for (new, old) in order.iter().enumerate() {
        places[*old] = new;
    }
    let mut old: Vec<_> = std::mem::take(&mut module.functions).into_iter().map(Some).collect();
    module.functions = order.iter().filter_map(|place| old[*place].take()).collect();
    let mut change = renumbered(module.imported, &places);
    module.change_names(&mut change)?;
    module.change_calls(&mut change);
    Ok(())
}

/// The new number of a function, from the new places of the module's own.
fn renumbered(imported: usize, places: &[usize]) -> impl FnMut(usize) -> usize {
    move |number| number.checked_sub(imported).map_or(number, |place| imported + places[place])
}

/// An order in which functions follow the one they are most alike: copies of generic code lie side by side, and the packer
/// finds each thing again at the same short distance.
fn neighbours(module: &Module) -> Vec<usize> {
    let count = module.functions.len();
    let opcodes: Vec<Vec<u8>> =
        module.functions.iter().map(|function| function.code.iter().map(|one| one.opcode).collect()).collect();
    let mut having: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (place, opcodes) in opcodes.iter().enumerate() {
        for row in opcodes.windows(ROW.min(opcodes.len())) {
            let places = having.entry(row).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
    }
    let mut rows: Vec<Vec<&[usize]>> = vec![Vec::new(); count];
    for places in having.values().filter(|places| (2..=COMMON).contains(&places.len())) {
        for place in places {
            rows[*place].push(places);
        }
    }
    // Where nothing is alike, the shortest goes on.
    let mut rest: Vec<usize> = (0..count).collect();
    rest.sort_by(|a, b| {
        let key = |place: usize| (opcodes[place].len(), &module.functions[place].locals, &opcodes[place]);
        key(*a).cmp(&key(*b))
    });
    let mut rest = rest.into_iter();
    let (mut order, mut taken, mut shared) = (Vec::with_capacity(count), vec![false; count], vec![0_u32; count]);
    let mut next = rest.next();
    while let Some(place) = next {
        order.push(place);
        taken[place] = true;
        let mut alike = Vec::new();
        for other in rows[place].iter().copied().flatten().copied().filter(|other| !taken[*other]) {
            if shared[other] == 0 {
                alike.push(other);
            }
            shared[other] += 1;
        }
        let best = alike.iter().copied().max_by_key(|other| (shared[*other], std::cmp::Reverse(*other)));
        for other in alike {
            shared[other] = 0;
        }
        next = best.or_else(|| rest.find(|place| !taken[*place]));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::{Module, put_like_together, tidy};

    /// An imported function and six more: the exported one, which calls two that are the same and one that calls another and
    /// stops; that one, which calls the imported one; one that nobody calls.
    fn module() -> Vec<u8> {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        let functions: [&[u8]; 6] = [
            // call 2, call 3, call 4
            &[0, 0x10, 2, 0x10, 3, 0x10, 4, 0x0b],
            // i32.const 1, drop
            &[0, 0x41, 1, 0x1a, 0x0b],
            &[0, 0x41, 1, 0x1a, 0x0b],
            // i32.const 9, drop, call 5, unreachable
            &[0, 0x41, 9, 0x1a, 0x10, 5, 0x00, 0x0b],
            // call 0
            &[0, 0x10, 0, 0x0b],
            &[0, 0x01, 0x0b],
        ];
        let mut code = vec![6];
        for body in functions {
            code.push(u8::try_from(body.len()).expect("short"));
            code.extend(body);
        }
        let sections: [(u8, &[u8]); 5] = [
            (1, &[1, 0x60, 0, 0]),
            (2, &[1, 1, b'a', 1, b'b', 0, 0]),
            (3, &[6, 0, 0, 0, 0, 0, 0]),
            (7, &[1, 1, b'e', 0, 1]),
            (10, &code),
        ];
        for (id, body) in sections {
            bytes.extend([id, u8::try_from(body.len()).expect("short")]);
            bytes.extend(body);
        }
        bytes
    }

    #[test]
    fn what_nobody_needs_goes_and_every_name_follows() {
        let mut module = Module::read(&module()).expect("a module");
        tidy(&mut module).expect("tidied");
        put_like_together(&mut module).expect("sorted");
        let mut exported = None;
        module.change_names(&mut |number| *exported.insert(number)).expect("names");
        let body = |number: usize| {
            let code = &module.functions[number - module.imported].code;
            let calls = code.iter().filter_map(super::Instruction::function).collect::<Vec<_>>();
            (code.iter().map(|one| one.opcode).collect::<Vec<_>>(), calls)
        };
        assert_eq!(module.imports().len(), 1);
        // The exported one, one of the two that are the same, the one that stops, and what it calls.
        assert_eq!(module.functions.len(), 4);
        let (opcodes, calls) = body(exported.expect("an export"));
        assert_eq!(opcodes, [0x10, 0x10, 0x10, 0x0b]);
        assert_eq!((calls[0], calls.len()), (calls[1], 3));
        assert_eq!(body(calls[0]).0, [0x41, 0x1a, 0x0b]);
        assert_eq!(body(calls[2]).0, [0x41, 0x1a, 0x10, 0x00, 0x0b]);
    }

    #[test]
    fn the_same_module_is_tidied_the_same() {
        let tidied = || {
            let mut module = Module::read(&module()).expect("a module");
            tidy(&mut module).expect("tidied");
            put_like_together(&mut module).expect("sorted");
            module.around()
        };
        assert_eq!(tidied(), tidied());
    }
}
