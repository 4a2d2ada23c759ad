"""The CPU model of this machine, and a file name for it. Needs no library but Python's own."""

import platform
import re
from pathlib import Path

#: Words of a model name that do not tell models apart.
NOISE = {"r", "tm", "cpu", "processor", "genuine", "core", "cores", "with", "family"}


def slug(model, cores):
    """A file name for a CPU model, as in `intel-xeon-6-207-l3-260m-2-cores`.

    Virtual machines often hide the model's number ("Intel(R) Xeon(R) Processor"): family, model number and the size
    of the L3 cache tell those apart.
    """
    name = re.sub(r"@.*|\d+-core", "", model["name"].lower())
    vendor = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(model["vendor"], model["vendor"].lower())
    words = [word for word in re.findall(r"[a-z0-9]+", f"{vendor} {name}") if word not in NOISE]
    parts = [*dict.fromkeys(words), *(str(model[key]) for key in ("family", "number") if model[key] is not None)]
    if model["l3"]:
        parts.append(f"l3-{model['l3'] >> 20}m")
    return "-".join([*parts, str(cores), "cores"])


def title(model, cores):
    """The model in words, as in `Intel Xeon Processor (family 6, model 207), L3 260 MiB, 2 cores`."""
    name = re.sub(r"\((R|TM)\)", "", model["name"], flags=re.IGNORECASE).strip()
    if model["family"] is not None:
        name += f" (family {model['family']}, model {model['number']})"
    return name + (f", L3 {model['l3'] >> 20} MiB" if model["l3"] else "") + f", {cores} cores"


def read(cpuinfo, l3_size):
    """The model from the text of `/proc/cpuinfo` and of sysfs's L3 size, as in `266240K`."""
    fields = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    number = lambda key: int(fields[key]) if fields.get(key, "").isdigit() else None
    size = re.match(r"(\d+)([KM]?)", l3_size)
    return {
        "vendor": fields.get("vendor_id") or platform.machine(),
        "name": fields.get("model name") or platform.processor() or platform.machine(),
        "family": number("cpu family"),
        "number": number("model"),
        "l3": int(size[1]) << {"": 0, "K": 10, "M": 20}[size[2]] if size else None,
    }


def here():
    """The model of this machine; what the system does not report is None."""

    def text(path):
        try:
            return Path(path).read_text()
        except OSError:
            return ""

    return read(text("/proc/cpuinfo"), text("/sys/devices/system/cpu/cpu0/cache/index3/size"))
