/**
 * One seed for all property tests, so that a commit fails for what it changed and not for a lucky draw. `FC_SEED=random`
 * explores, and `FC_SEED=n` repeats; a seed that fails becomes a named test.
 */
import fc from "fast-check";

const wanted = process.env["FC_SEED"] ?? "20261130";
if (wanted !== "random") fc.configureGlobal({ seed: Number(wanted) });
