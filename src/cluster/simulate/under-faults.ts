// `underFaults`: one test with several seeds, each with faults that are drawn from the seed. A seed
// that fails is run again with ever fewer faults.

import { errorMessage } from '#machinery/error-message.ts';
import { SeededRandom } from '#machinery/random.ts';
import { toMilliseconds } from '#machinery/text/duration.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import { chosenSeed, replayLine } from '../embedded/seeds.ts';
import type { EmbeddedCluster, StartClusterOptions } from '../embedded/embedded-cluster.ts';
import { startCluster } from '../embedded/start-cluster.ts';
import {
  applyFault,
  describeFault,
  drawSchedule,
  type FaultKind,
  type ScheduledFault,
} from './schedule.ts';
import { shrink } from './shrink.ts';
import { seedNumber } from './simulate.ts';

/** The world of a test in one run. */
export interface UnderFaultsContext {
  readonly cluster: EmbeddedCluster<VirtualClock>;
  readonly seed: string;
  /** A sequence of the seed, for choices of the test itself. */
  readonly random: SeededRandom;
  /** Ends all faults; none begins any more. The test lets the time pass that the cluster needs. */
  endFaults(): void;
}

export type UnderFaultsTest = (run: UnderFaultsContext) => Promise<void>;

export interface UnderFaultsOptions {
  /**
   * The first seed; those after it are numbered. Default: that of the environment variable
   * COXSWAIN_SEED, which then is the only one; otherwise '1'.
   */
  readonly seed?: string;
  /** How many seeds. Default: 10. */
  readonly seeds?: number;
  /** Faults begin within so much virtual time from the start. Default: '10m'. */
  readonly duration?: number | string;
  /** Which faults are drawn, and how many an hour on average. Default: all, 60. */
  readonly faults?: { readonly kinds?: readonly FaultKind[]; readonly perHour?: number };
  /** Default: three nodes. */
  readonly cluster?: Omit<StartClusterOptions, 'clock' | 'seed' | 'port' | 'dnsPort'>;
  /** A failing seed is run again so many times at most. Default: 50. */
  readonly maxRuns?: number;
}

/** Thrown for a seed that fails. `cause`: what the test threw with all of its faults. */
export class SeedError extends Error {
  readonly seed: string;
  /** The fewest faults with which the seed fails, as lines of code. */
  readonly schedule: readonly string[];

  constructor(seed: string, schedule: readonly string[], cause: unknown) {
    const faults =
      schedule.length === 0
        ? 'It fails without faults, too.'
        : `It takes ${schedule.length === 1 ? 'this fault' : 'these faults'}:\n` +
          schedule.map((line) => `  ${line}`).join('\n');
    super(
      `seed ${JSON.stringify(seed)}: ${errorMessage(cause)}\n${faults}\n` +
        `run it again: ${replayLine(seed)}`,
      { cause },
    );
    this.name = 'SeedError';
    this.seed = seed;
    this.schedule = schedule;
  }
}

const DEFAULT_NODES = 3;

/**
 * Runs a test with each seed, on a cluster of its own. Resolves with the number of seeds. Rejects
 * with SeedError for the first seed that fails.
 */
export async function underFaults(
  test: UnderFaultsTest,
  options: UnderFaultsOptions = {},
): Promise<{ readonly seeds: number }> {
  const chosen = options.seed === undefined ? chosenSeed() : undefined;
  const seeds = chosen === undefined ? (options.seeds ?? 10) : 1;
  const first = options.seed ?? chosen ?? '1';
  const { nodes = DEFAULT_NODES } = options.cluster ?? {};
  for (let index = 0; index < seeds; index++) {
    const seed = seedNumber(first, index);
    const schedule = drawSchedule({
      random: new SeededRandom(`${seed}/schedule`),
      durationMs: toMilliseconds(options.duration ?? '10m'),
      nodes,
      kinds: options.faults?.kinds,
      perHour: options.faults?.perHour ?? 60,
    });
    const failure = await failureOf(test, options, seed, schedule);
    if (failure === undefined) continue;
    const least = await shrink(
      schedule,
      async (part) => (await failureOf(test, options, seed, part)) !== undefined,
      options.maxRuns ?? 50,
    );
    throw new SeedError(seed, least.map(describeFault), failure.error);
  }
  return { seeds };
}

/** Runs the test once. Returns what it threw; undefined if it passed. */
async function failureOf(
  test: UnderFaultsTest,
  options: UnderFaultsOptions,
  seed: string,
  schedule: readonly ScheduledFault[],
): Promise<{ readonly error: unknown } | undefined> {
  const cluster = await startCluster({
    nodes: DEFAULT_NODES,
    ...options.cluster,
    seed,
    clock: 'virtual',
  });
  const { clock, faults } = cluster;
  const timers = schedule.map((scheduled) =>
    clock.setTimer(scheduled.atMs, () => {
      const fault = applyFault(faults, scheduled);
      clock.setTimer(scheduled.durationMs, () => fault.end());
    }),
  );
  const endFaults = (): void => {
    for (const timer of timers) timer.cancel();
    faults.endAll();
  };
  try {
    await test({ cluster, seed, random: new SeededRandom(`${seed}/test`), endFaults });
    return undefined;
  } catch (error) {
    return { error };
  } finally {
    endFaults();
    await cluster.stop();
  }
}
