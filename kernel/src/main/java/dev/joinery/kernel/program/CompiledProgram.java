package dev.joinery.kernel.program;

import java.io.Serializable;
import java.util.List;

/**
 * A program with its expressions compiled: what is shipped to the workers.
 *
 * @param aggregates by node, then by arm; empty where there are none
 */
public record CompiledProgram(
    Program program, List<CompiledAssembler> assemblers, List<List<List<CompiledAggregate>>> aggregates)
    implements Serializable {}
