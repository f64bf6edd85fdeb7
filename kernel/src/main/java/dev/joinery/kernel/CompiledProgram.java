package dev.joinery.kernel;

import java.io.Serializable;
import java.util.List;

/**
 * A program with its expressions compiled: what is shipped to the workers.
 *
 * @param aggregates by node, then by arm; empty where there are none
 */
record CompiledProgram(
    Program program, List<AssemblerPlan> assemblers, List<List<List<AggregatePlan>>> aggregates)
    implements Serializable {}
