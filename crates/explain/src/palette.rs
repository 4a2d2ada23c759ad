//! The colours of the cells in the SVG file and on the page.

use crate::MOST_INPUTS;
use crate::layout::SHADES;

/// The lightest and the darkest shade of each input. The hues are told apart by colour-blind eyes too,
/// and every shade is light enough for near-black text.
const SHADE_ENDS: [[[u8; 3]; 2]; MOST_INPUTS] = [
    [[0xcf, 0xe8, 0xfb], [0x3d, 0x9f, 0xdc]], // blue
    [[0xff, 0xe3, 0xb0], [0xe8, 0x96, 0x0c]], // orange
    [[0xc3, 0xf0, 0xdd], [0x17, 0xa8, 0x7d]], // green
    [[0xf9, 0xd9, 0xea], [0xd3, 0x7c, 0xae]], // pink
    [[0xf8, 0xf3, 0xb0], [0xcf, 0xbd, 0x1f]], // yellow
    [[0xe2, 0xe0, 0xf8], [0x93, 0x8d, 0xdd]], // violet
];

/// One rule a shade: `.a0 .k3` holds what `declaration` says of its red, green and blue.
pub(crate) fn rules(inputs: usize, declaration: impl Fn([u8; 3]) -> String) -> String {
    let mut css = String::new();
    for (m, [light, dark]) in SHADE_ENDS.iter().enumerate().take(inputs) {
        for shade in 0..SHADES {
            let mix = |from: u8, to: u8| {
                let (from, to, most) = (usize::from(from), usize::from(to), SHADES - 1);
                u8::try_from((from * (most - shade) + to * shade) / most).unwrap_or(u8::MAX)
            };
            let color = std::array::from_fn(|at| mix(light[at], dark[at]));
            css.push_str(&format!(".a{m} .k{shade}{{{}}}\n", declaration(color)));
        }
    }
    css
}

/// The frame of an input's blocks in its darkest shade.
pub(crate) fn frames(inputs: usize) -> String {
    let rule = |(m, [_, [red, green, blue]]): (usize, &[[u8; 3]; 2])| {
        format!(".a{m} .frame{{stroke:#{red:02x}{green:02x}{blue:02x}}}\n")
    };
    SHADE_ENDS.iter().enumerate().take(inputs).map(rule).collect()
}
