"""What solvers minimise: functions of a vector, and how data make them."""
