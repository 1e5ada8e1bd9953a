// `cox simulate`: many seeds of one scenario, on all cores. A seed that fails is run again with ever fewer faults.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { UserError } from '../user-error.ts';
import { runSeed, scheduleOf, type SeedResult } from './run-seed.ts';
import { checkedScenario, type SimulationScenario } from './scenario.ts';
import { describeFault } from './schedule.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { shrink } from './shrink.ts';

export interface SimulateOptions {
  readonly scenario: SimulationScenario;
  /** The first seed; those after it are numbered. Default: '1'. */
  readonly seed?: string;
  /** How many seeds. Default: 10. */
  readonly seeds?: number;
  /** Without faults only the scenario itself varies. Default: true. */
  readonly faults?: boolean;
  /** No further seed begins after so many milliseconds of real time. */
  readonly limitMs?: number;
  readonly clock: Clock;
  /** Runs a seed. Default: in this process, one after the other. */
  readonly workers?: readonly SeedRunner[];
  readonly onResult?: (result: SeedResult) => void;
  readonly signal?: AbortSignal;
}

/** Runs one seed with the schedule that follows from it. */
export type SeedRunner = (seed: string) => Promise<SeedResult>;

export interface SimulationFailure {
  readonly seed: string;
  readonly problems: readonly string[];
  /** The fewest faults with which the seed fails, as lines of code. */
  readonly schedule: readonly string[];
}

export interface SimulationReport {
  readonly scenario: string;
  readonly seeds: number;
  readonly simulatedSeconds: number;
  readonly realSeconds: number;
  readonly simulatedYearsPerHour: number;
  readonly faults: number;
  readonly requests: number;
  readonly rejectedActions: number;
  readonly failures: readonly SimulationFailure[];
}

const YEAR_S = 365.25 * 24 * 3600;

/** So many failures are shrunk and reported; further ones are counted as seeds only. */
const MAX_FAILURES = 5;

export async function simulate(options: SimulateOptions): Promise<SimulationReport> {
  const { scenario, seed = '1', seeds = 10, faults = true, limitMs, clock, signal } = options;
  const here: SeedRunner = (each) => runSeed(scenario, each, scheduleOf(scenario, each, faults));
  const { workers = [here], onResult } = options;
  const startedMs = clock.monotonic();
  const results: SeedResult[] = [];
  let next = 0;
  const isOver = (): boolean =>
    next >= seeds ||
    signal?.aborted === true ||
    (limitMs !== undefined && clock.monotonic() - startedMs >= limitMs) ||
    results.filter(({ problems }) => problems.length > 0).length >= MAX_FAILURES;
  await Promise.all(
    workers.map(async (run) => {
      while (!isOver()) {
        const result = await run(seedNumber(seed, next++));
        results.push(result);
        onResult?.(result);
      }
    }),
  );
  const realSeconds = (clock.monotonic() - startedMs) / 1000;
  const sum = (of: (result: SeedResult) => number): number =>
    results.reduce((total, result) => total + of(result), 0);
  const simulatedSeconds = sum(({ simulatedMs }) => simulatedMs) / 1000;
  const failures: SimulationFailure[] = [];
  for (const result of results)
    if (result.problems.length > 0) failures.push(await shrunk(scenario, result));
  return {
    scenario: scenario.name,
    seeds: results.length,
    simulatedSeconds,
    realSeconds,
    simulatedYearsPerHour: realSeconds === 0 ? 0 : (simulatedSeconds / YEAR_S / realSeconds) * 3600,
    faults: sum(({ faults: count }) => count),
    requests: sum(({ requests }) => requests),
    rejectedActions: sum(({ rejected }) => rejected),
    failures,
  };
}

/** Returns the first seed itself, and then 'SEED+1', 'SEED+2'; numbers are counted on. */
export function seedNumber(first: string, index: number): string {
  if (/^\d{1,15}$/.test(first)) return String(Number(first) + index);
  return index === 0 ? first : `${first}+${index}`;
}

async function shrunk(
  scenario: SimulationScenario,
  { seed, problems, schedule }: SeedResult,
): Promise<SimulationFailure> {
  const least = await shrink(
    schedule,
    async (part) => (await runSeed(scenario, seed, part)).problems.length > 0,
    50,
  );
  return { seed, problems, schedule: least.map(describeFault) };
}

/** Returns the scenario of a name that comes with the package, or of a module. Throws UserError. */
export function loadScenario(name: string): SimulationScenario {
  const known = SCENARIOS.get(name);
  if (known !== undefined) return known;
  const path = resolve(name);
  if (!existsSync(path))
    throw new UserError(
      `there is no scenario ${name}: name a file, or one of ${[...SCENARIOS.keys()].join(', ')}`,
    );
  let module: { readonly default?: unknown };
  try {
    // Also loads ES modules, and TypeScript where Node does.
    module = createRequire(import.meta.url)(path) as { readonly default?: unknown };
  } catch (error) {
    const hint = /\.[cm]?ts$/.test(path)
      ? ' (TypeScript needs Node 22.18 or later; otherwise compile the scenario to JavaScript)'
      : '';
    throw new UserError(`${name} cannot be loaded${hint}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  return checkedScenario(module.default ?? module, name);
}
