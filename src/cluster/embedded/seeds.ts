// The seed of a test: where it comes from, and how a test that fails says it.

import { errorMessage } from '#machinery/error-message.ts';

/** The environment variable that replaces the default seed of clusters on a virtual clock. */
const SEED_VARIABLE = 'COXSWAIN_SEED';

const DEFAULT_SEED = 'coxswain';

/** Returns the seed that the environment chooses; undefined if it chooses none. */
export function chosenSeed(): string | undefined {
  const seed = process.env[SEED_VARIABLE];
  return seed === '' ? undefined : seed;
}

export const defaultSeed = (): string => chosenSeed() ?? DEFAULT_SEED;

/** The part of a cluster that a report names. */
export interface SeededCluster {
  readonly seed: string | number | undefined;
  readonly faults: { list(): readonly { readonly description: string }[] };
}

/** Returns how a run is repeated, as a line for a shell. */
export function replayLine(seed: string | number): string {
  const text = String(seed);
  const quoted = /^[\w.+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `${SEED_VARIABLE}=${quoted} COMMAND OF THE TEST`;
}

/** Returns what a failing test says of its cluster; undefined if chance was not seeded. */
export function seedNote({ seed, faults }: SeededCluster): string | undefined {
  if (seed === undefined) return undefined;
  const active = faults.list().map(({ description }) => `  fault: ${description}`);
  return [`seed ${JSON.stringify(seed)}; run it again: ${replayLine(seed)}`, ...active].join('\n');
}

/** Adds a note to the message of an error, also where runners print only the stack. Returns it. */
export function annotated(error: unknown, note: string | undefined): unknown {
  if (note === undefined) return error;
  if (!(error instanceof Error))
    return new Error(`${errorMessage(error)}\n${note}`, { cause: error });
  const { message, stack } = error;
  error.message = `${message}\n${note}`;
  if (stack !== undefined && message !== '' && stack.includes(message))
    error.stack = stack.replace(message, () => error.message);
  return error;
}

/** Runs a test with a cluster. What it throws names the seed. */
export async function seeded<C extends SeededCluster, T>(
  cluster: C,
  test: (cluster: C) => T | Promise<T>,
): Promise<T> {
  try {
    return await test(cluster);
  } catch (error) {
    throw annotated(error, seedNote(cluster));
  }
}
