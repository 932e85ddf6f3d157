"""The open pantry: tables anyone may read and change, and the environment built from them."""
