"""python -m unishape."""

import sys

from unishape._command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
