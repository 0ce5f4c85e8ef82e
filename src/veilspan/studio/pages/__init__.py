"""The pages of the studio, a module each, with the addresses that it answers."""
