package dev.joinery.kernel.message;

/** What a change does and where it stands, without its row. */
public record Change(
    int op, boolean positioned, long position, long major, long minor, long[] absent) {}
