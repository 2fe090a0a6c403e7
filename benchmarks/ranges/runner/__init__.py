"""Range queries over a primary key beside updates, on heap and on amax."""
