// What runs in the pods of the node tier: a program that uses what it is told to.
module treadle.dev/tests/node_tier/tools/worker

go 1.26.0
