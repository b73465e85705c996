"""Programs whose parts are marked, so that they can be found in any prompt and put into one file or into several.

A part is what stands between the lines `# part: NAME` and `# end: NAME`. Lines of a diff begin with a sign, so a part
inside a diff is not taken for one.
"""
import re

PART = re.compile(r"^# part: (\w+)\n(.*?)^# end: \1$", re.M | re.S)


def parts_of(text):
    """{name: text} of the first occurrence of each part."""
    found = {}
    for name, body in PART.findall(text):
        found.setdefault(name, body)
    return found


def block(name, body):
    return f"# part: {name}\n{body}# end: {name}"


def one_file(parts):
    """All parts in one file, between the marks that OpenEvolve and ShinkaEvolve know."""
    inside = "\n\n\n".join(block(name, body) for name, body in parts.items())
    return f"# EVOLVE-BLOCK-START\n{inside}\n# EVOLVE-BLOCK-END\n"


def files(parts):
    """{path: text}, a file a part."""
    return {f"{name}.py": block(name, body) + "\n" for name, body in parts.items()}


def run(parts):
    """The names that a program defines."""
    names = {}
    exec(compile("\n".join(parts.values()), "<program>", "exec"), names)
    return names


def nudged(body, r, sigma, low, high):
    """The text with one of its decimal numbers moved by a normal draw; numbers stay in [low, high]."""
    numbers = list(re.finditer(r"-?\d+\.\d+", body))
    at = numbers[r.randrange(len(numbers))]
    value = min(high, max(low, float(at.group()) + r.gauss(0, sigma)))
    return f"{body[:at.start()]}{value:.4f}{body[at.end():]}"
