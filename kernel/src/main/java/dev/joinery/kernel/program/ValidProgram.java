package dev.joinery.kernel.program;

/** An embed of a fold, of whose rows it has the versions that were valid at a time of its own. */
public record ValidProgram(String name, int level, int fold, int branch)
    implements Program.NodeProgram {}
