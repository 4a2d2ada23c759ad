//! Colors of the cells in the SVG file and on the page.

use crate::layout::SHADES;

/// Number of colors.
pub(crate) const COLORS: usize = 6;

/// Lightest and darkest shade of each color.
///
/// The hues are safe for color blindness; every shade is light enough for near-black text.
const SHADE_ENDS: [[[u8; 3]; 2]; COLORS] = [
    [[0xcf, 0xe8, 0xfb], [0x3d, 0x9f, 0xdc]], // blue
    [[0xff, 0xe3, 0xb0], [0xe8, 0x96, 0x0c]], // orange
    [[0xc3, 0xf0, 0xdd], [0x17, 0xa8, 0x7d]], // green
    [[0xf9, 0xd9, 0xea], [0xd3, 0x7c, 0xae]], // pink
    [[0xf8, 0xf3, 0xb0], [0xcf, 0xbd, 0x1f]], // yellow
    [[0xe2, 0xe0, 0xf8], [0x93, 0x8d, 0xdd]], // violet
];

/// CSS rules, one per shade: `.a0 .k3` has the `declaration` of its RGB color.
pub(crate) fn rules(parts: usize, declaration: impl Fn([u8; 3]) -> String) -> String {
    let mut css = String::new();
    for (m, [light, dark]) in SHADE_ENDS.iter().enumerate().take(parts) {
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

/// CSS rules for the frames of blocks, in the darkest shade of the part.
pub(crate) fn frames(parts: usize) -> String {
    let rule = |(m, [_, [red, green, blue]]): (usize, &[[u8; 3]; 2])| {
        format!(".a{m} .frame{{stroke:#{red:02x}{green:02x}{blue:02x}}}\n")
    };
    SHADE_ENDS.iter().enumerate().take(parts).map(rule).collect()
}
