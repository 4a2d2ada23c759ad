//! Memory sizes on the command line.

/// The smallest memory limit, in bytes.
const MIN: u64 = 1 << 20;

/// Parses a size in bytes: `64M`, `1.5G`, `512MiB` or `1048576`. Units are powers of 1024.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let bytes = bytes(text).ok_or("expected a size such as 64M, 1.5G or 512MiB")?;
    if bytes < MIN {
        return Err("must be at least 1M".into());
    }
    Ok(bytes)
}

fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    // Saturates.
    Some((number * (1u64 << shift) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_are_parsed() {
        let texts = ["1048576", "64M", "64m", "1.5G", "512MiB", "2 GB", "1024k", "3T", "99999999T"];
        let expected = [1 << 20, 64 << 20, 64 << 20, 3 << 29, 512 << 20, 2 << 30, 1 << 20, 3 << 40, u64::MAX];
        assert_eq!(texts.map(|text| parse(text).unwrap_or(0)), expected);
    }

    #[test]
    fn invalid_and_small_sizes_are_errors() {
        for text in ["", "M", "ten", "1..5M", "-1M", "1X", "1MM", "inf", "nan"] {
            assert!(parse(text).is_err_and(|problem| problem.starts_with("expected a size")), "{text}");
        }
        for text in ["0", "1023k", "1048575", "0.5M"] {
            assert!(parse(text).is_err_and(|problem| problem.starts_with("must be at least")), "{text}");
        }
    }
}
