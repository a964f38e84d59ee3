"""What YARN says, as functions of what they are given: no tree in force, no table of nodes, no clock."""
