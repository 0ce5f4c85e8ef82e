"""The table "peers": other libraries beside ours, each at its best in its own environment."""
