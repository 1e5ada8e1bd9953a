// Runs one test again and again, each time with another disturbance, and compares the outcomes.

import { errorMessage } from '#machinery/error-message.ts';
import {
  describeDisturbance,
  DISTURBANCE_KINDS,
  type Disturbance,
  type DisturbanceKind,
  disturbancesOf,
  type RunSize,
} from './disturbance.ts';
import { nextChoices } from './interleaver.ts';

/** One run of the test. */
export interface RunResult {
  readonly size: RunSize;
  readonly outcome: readonly unknown[];
  /** Thrown by the test, an invariant or a reconciler. */
  readonly failure?: unknown;
  /** For several reconcilers: the choices of their order, and how many there were at each. */
  readonly choices?: readonly number[];
  readonly branches?: readonly number[];
}

export interface ExploreLimits {
  /** The disturbances that are tried. Default: all. */
  readonly kinds?: readonly DisturbanceKind[];
  /** Default: 1000. */
  readonly maxRuns?: number;
  /** So many choices of the order of requests are varied. Default: 10. */
  readonly depth?: number;
  /** Stops after so many problems. Default: 1. */
  readonly maxProblems?: number;
  /** Tries this disturbance alone, as an ExplorationError names it. Default: all of `kinds`. */
  readonly only?: Disturbance;
}

/** A run that ended differently. */
export interface ExplorationProblem {
  readonly disturbance: Disturbance;
  /** 'a crash after write 2' */
  readonly description: string;
  readonly outcome: readonly unknown[];
  /** Set if the run failed instead of ending. */
  readonly failure?: unknown;
}

export interface Exploration {
  readonly runs: number;
  /** False: `maxRuns` or `maxProblems` ended it before everything had been tried. */
  readonly complete: boolean;
  /** The size of the undisturbed run. */
  readonly size: RunSize;
  /** The outcome of the undisturbed run. */
  readonly outcome: readonly unknown[];
  readonly problems: readonly ExplorationProblem[];
}

/** `run`: runs the test once. Rejects with what the undisturbed run fails with. */
export async function exploreRuns(
  run: (disturbance: Disturbance) => Promise<RunResult>,
  {
    kinds = DISTURBANCE_KINDS,
    maxRuns = 1000,
    depth = 10,
    maxProblems = 1,
    only,
  }: ExploreLimits = {},
): Promise<Exploration> {
  const calm = await run({ kind: 'none' });
  if (calm.failure !== undefined) throw calm.failure;
  const expected = JSON.stringify(calm.outcome);
  const problems: ExplorationProblem[] = [];
  let runs = 1;
  const isProblem = ({ failure, outcome }: RunResult): boolean =>
    failure !== undefined || JSON.stringify(outcome) !== expected;
  /** Returns a result with as few choices other than the first as still end differently. */
  const fewestChoices = async (
    result: RunResult,
    { choices }: Extract<Disturbance, { readonly kind: 'order' }>,
  ): Promise<RunResult & { readonly disturbance?: Disturbance }> => {
    let least: RunResult & { readonly disturbance?: Disturbance } = result;
    let current = choices;
    for (const [at, choice] of choices.entries()) {
      if (choice === 0 || runs >= maxRuns) continue;
      const disturbance = { kind: 'order', choices: current.with(at, 0) } as const;
      runs++;
      const simpler = await run(disturbance);
      if (!isProblem(simpler)) continue;
      current = disturbance.choices;
      least = { ...simpler, disturbance };
    }
    return least;
  };
  /** Runs one disturbance. Returns undefined when the limits are reached. */
  const attempt = async (disturbance: Disturbance): Promise<RunResult | undefined> => {
    if (runs >= maxRuns || problems.length >= maxProblems) return undefined;
    runs++;
    const result = await run(disturbance);
    if (!isProblem(result)) return result;
    const least: RunResult & { readonly disturbance?: Disturbance } =
      disturbance.kind === 'order' ? await fewestChoices(result, disturbance) : result;
    const { failure, outcome } = least;
    const found = least.disturbance ?? disturbance;
    problems.push({
      disturbance: found,
      description: describeDisturbance(found),
      outcome,
      ...(failure !== undefined && { failure }),
    });
    return result;
  };
  const complete = async (): Promise<boolean> => {
    if (only !== undefined) {
      await attempt(only);
      return true;
    }
    const tried = new Set(kinds);
    for (const disturbance of disturbancesOf(calm.size, tried))
      if ((await attempt(disturbance)) === undefined) return false;
    if (!tried.has('order') || calm.branches === undefined) return true;
    let choices = nextChoices(calm.choices ?? [], calm.branches, depth);
    while (choices !== undefined) {
      const result = await attempt({ kind: 'order', choices });
      if (result === undefined) return false;
      choices = nextChoices(result.choices ?? [], result.branches ?? [], depth);
    }
    return true;
  };
  const isComplete = await complete();
  return {
    runs,
    complete: isComplete && problems.length < maxProblems,
    size: calm.size,
    outcome: calm.outcome,
    problems,
  };
}

/** Thrown for an exploration that has found problems. */
export class ExplorationError extends Error {
  readonly exploration: Exploration;

  /** `seed`: that of the cluster. */
  constructor(exploration: Exploration, seed?: string | number) {
    super(messageOf(exploration, seed));
    this.name = 'ExplorationError';
    this.exploration = exploration;
  }
}

function messageOf(
  { problems, outcome, runs }: Exploration,
  seed: string | number | undefined,
): string {
  const [first] = problems;
  if (first === undefined) return 'the exploration has found no problem';
  const { failure, disturbance, description } = first;
  const what =
    failure === undefined
      ? `the outcome differs from that without a fault:\n${difference(outcome, first.outcome)}`
      : errorMessage(failure);
  const options = [
    `only: ${JSON.stringify(disturbance)}`,
    ...(seed === undefined ? [] : [`cluster: { …, seed: ${JSON.stringify(seed)} }`]),
  ];
  return (
    `run ${runs}, with ${description}: ${what}\n` +
    `run it again alone: explore(test, { …, ${options.join(', ')} })`
  );
}

/** So many differing objects are shown. */
const MAX_SHOWN = 5;

/** Returns the objects that only one of the outcomes has, with a sign in front: '-' without a fault, '+' with it. */
function difference(expected: readonly unknown[], actual: readonly unknown[]): string {
  const texts = (objects: readonly unknown[]): string[] =>
    objects.map((object) => JSON.stringify(object));
  const without = (from: string[], others: string[]): string[] => {
    const left = [...others];
    return from.filter((text) => {
      const at = left.indexOf(text);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
  };
  const [before, after] = [texts(expected), texts(actual)];
  const lines = [
    ...without(before, after).map((text) => `- ${text}`),
    ...without(after, before).map((text) => `+ ${text}`),
  ];
  const more = lines.length - MAX_SHOWN;
  return [...lines.slice(0, MAX_SHOWN), ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}
