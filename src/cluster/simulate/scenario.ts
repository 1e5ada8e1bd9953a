// The shape of a scenario that `cox simulate` runs: a module whose default export is one.

import type { Random } from '#machinery/random.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import { toMilliseconds } from '#machinery/text/duration.ts';
import type { EmbeddedCluster, StartClusterOptions } from '../embedded/embedded-cluster.ts';
import { UserError } from '../user-error.ts';
import { FAULT_KINDS, type FaultKind } from './schedule.ts';

/** The argument of a scenario's functions. */
export interface ScenarioContext {
  readonly cluster: EmbeddedCluster<VirtualClock>;
  /** Depends on the seed only. */
  readonly random: Random;
}

/** Something that happens again and again during a run, such as a rollout. */
export interface ScenarioAction {
  /** Between the starts of two runs of it, in virtual time: milliseconds, or text such as '10m'. */
  readonly every: number | string;
  /** An API error of the server (500 and above) is counted, not a failure. */
  readonly run: (context: ScenarioContext) => Promise<void>;
}

/** A property of the cluster. */
export interface ScenarioInvariant {
  readonly name: string;
  /** 'always': checked every minute. 'settled': at the end, when all faults are over. Default: 'always'. */
  readonly when?: 'always' | 'settled';
  /** Returns what is wrong; empty: nothing. */
  readonly check: (context: ScenarioContext) => Promise<readonly string[]>;
}

export interface SimulationScenario {
  readonly name: string;
  readonly description?: string;
  /** Default: three nodes. */
  readonly cluster?: Omit<StartClusterOptions, 'clock' | 'seed' | 'hashHistory'>;
  /** The virtual time of one seed. Default: '1h'. */
  readonly duration?: number | string;
  /** How long the cluster has to recover before the 'settled' invariants are checked. Default: '15m'. */
  readonly recovery?: number | string;
  /** Which faults are drawn, and how many an hour on average. Default: all, 12. */
  readonly faults?: { readonly kinds?: readonly FaultKind[]; readonly perHour?: number };
  readonly setup: (context: ScenarioContext) => Promise<void>;
  readonly actions?: readonly ScenarioAction[];
  /** Beside those that hold for every cluster. */
  readonly invariants?: readonly ScenarioInvariant[];
}

const FIELDS = [
  'name',
  'description',
  'cluster',
  'duration',
  'recovery',
  'faults',
  'setup',
  'actions',
  'invariants',
];

/** Returns the scenario, checked. Throws UserError. `where`: the file, for the message. */
export function checkedScenario(value: unknown, where: string): SimulationScenario {
  const fail = (what: string): never => {
    throw new UserError(`${where}: ${what}`);
  };
  if (typeof value !== 'object' || value === null)
    return fail('the default export of a scenario is an object with name and setup');
  const scenario = value as SimulationScenario;
  for (const field of Object.keys(scenario))
    if (!FIELDS.includes(field))
      fail(`unknown field ${JSON.stringify(field)}; known are ${FIELDS.join(', ')}`);
  if (typeof scenario.name !== 'string' || scenario.name === '') fail('name is needed');
  if (typeof scenario.setup !== 'function') fail('setup must be a function');
  for (const field of ['duration', 'recovery'] as const)
    checkDuration(scenario[field], field, fail);
  for (const action of scenario.actions ?? []) {
    checkDuration(action.every, 'every', fail);
    if (action.every === undefined) fail('an action needs every');
    if (typeof action.run !== 'function') fail('an action needs run, a function');
  }
  for (const { name, check, when = 'always' } of scenario.invariants ?? [])
    if (typeof name !== 'string' || typeof check !== 'function' || !/^(always|settled)$/.test(when))
      fail("an invariant needs name and check, and when is 'always' or 'settled'");
  const { kinds = [], perHour = 0 } = scenario.faults ?? {};
  for (const kind of kinds)
    if (!FAULT_KINDS.includes(kind))
      fail(`unknown fault ${JSON.stringify(kind)}; known are ${FAULT_KINDS.join(', ')}`);
  if (!(perHour >= 0 && perHour <= 3600)) fail('perHour must be from 0 to 3600');
  return scenario;
}

function checkDuration(
  duration: number | string | undefined,
  field: string,
  fail: (what: string) => never,
): void {
  if (duration === undefined) return;
  let milliseconds = 0;
  try {
    milliseconds = toMilliseconds(duration);
  } catch {
    fail(`${field}: ${JSON.stringify(duration)} is no duration, such as '10m'`);
  }
  if (!(milliseconds > 0)) fail(`${field} must be more than 0`);
}
