"""Pure functions of rows and their friends: distances, ranks, soft cores, rings."""
