package dev.joinery.kernel;

import java.io.Serializable;
import java.util.List;

/**
 * A program with its expressions compiled: what is shipped to the workers.
 *
 * @param aggregates by node; empty where a node has none
 */
record CompiledProgram(
    Program program, List<AssemblerPlan> assemblers, List<List<AggregatePlan>> aggregates)
    implements Serializable {}
