"""Point reads and writes by primary key, on heap and on amax."""
