/**
 * What travels between nodes, with the outbox that holds it: changes, children, branches, events,
 * counts and dead letters.
 *
 * <p>Never remembers anything beyond a task.
 */
package dev.joinery.kernel.message;
