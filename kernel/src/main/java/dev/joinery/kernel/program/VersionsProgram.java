package dev.joinery.kernel.program;

import java.util.List;

/**
 * The versions of a relation's rows, as rows of their own.
 *
 * @param relation whose rows they are
 * @param versions what they are in the program's relations: the row as products see it, then until
 *     when it is valid
 * @param validFrom over the row as products see it, the time from which it is valid
 * @param told what a delete has to tell beside its key to end a version, over decoded columns;
 *     empty where no delete can
 * @param uses over a version
 */
public record VersionsProgram(
    String name,
    int level,
    int relation,
    int versions,
    int validFrom,
    int[] told,
    List<Program.Use> uses)
    implements Program.NodeProgram {}
