"""How a table is counted by its schema: public cells of every column, and a code for each row."""
