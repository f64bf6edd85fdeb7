package dev.joinery.kernel.program;

/**
 * The versions of a relation's rows.
 *
 * @param relation whose rows they are
 * @param validFrom over the row as products see it, the time from which it is valid
 * @param told what a delete has to tell beside its key to end a version, over decoded columns;
 *     empty where no delete can
 * @param assembler a version's document, over the row as products see it, the time from which it is
 *     valid and the time until which it is; then the same of knowing it, where that is kept
 * @param known over the row as products see it, the time at which a change became known; null where
 *     that is not kept
 */
public record HistoryProgram(
    String name,
    int level,
    int relation,
    int validFrom,
    int[] told,
    int assembler,
    int product,
    Integer known)
    implements Program.NodeProgram {}
