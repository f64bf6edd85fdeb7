package dev.joinery.kernel.program;

import java.io.Serializable;

/**
 * Which rows of a relation come late for one product with intervals.
 *
 * @param product the place of the product
 * @param late when a row is late, and what becomes of it; its retention is that of the product
 * @param beforeMicros how long before its time a row may be waited for, {@code afterMicros} how long
 *     after; -1 where the product waits for nothing
 * @param countsMicros a change of a row is too late once the watermark is so long past its time; -1
 *     where none is
 * @param forgottenMicros a row is forgotten to a change of it so long past its time
 * @param timeColumns the decoded columns that the time is made of; a change that leaves one out does
 *     not tell it
 */
public record JudgedProgram(
    int product,
    GroupProgram.LateProgram late,
    long beforeMicros,
    long afterMicros,
    long countsMicros,
    long forgottenMicros,
    int[] timeColumns)
    implements Serializable {}
