"""The machine: tables of nodes and pods, the tree in force, the cycle, what both disciplines share."""
