// The faults of a run as a value: drawn from the seed, applied one after the other, and shrunk when they break
// something.

import type { Random } from '#machinery/random.ts';
import type { Fault, Faults } from '#simulation/index.ts';

/** A fault at a time. `method` and `args` are those of `cluster.faults`. */
export interface ScheduledFault {
  readonly kind: FaultKind;
  /** Milliseconds from the beginning of the run. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly method: keyof Faults;
  readonly args: readonly unknown[];
}

type Call = readonly [method: keyof Faults, ...args: unknown[]];

const COMPONENTS = ['controller-manager', 'scheduler', 'kubelet'] as const;

/** How each kind is drawn. */
const KINDS = {
  crash: (random, nodes) => ['crash', anyComponent(random, nodes), {}],
  'crash after write': (random, nodes) => [
    'crash',
    anyComponent(random, nodes),
    { afterWrite: true, skip: random.int(5) },
  ],
  partition: (random, nodes) => ['partition', anyNode(random, nodes)],
  'slow node': (random, nodes) => ['slow', anyNode(random, nodes), { by: '2s' }],
  conflict: () => ['fail', 409, { verb: ['update', 'patch'], probability: 0.3 }],
  'too many requests': () => ['fail', 429, { probability: 0.2, retryAfterSeconds: 1 }],
  unavailable: (random) => ['fail', 503, { component: pick(random, COMPONENTS), probability: 0.3 }],
  timeout: () => ['timeout', { verb: 'write', probability: 0.2 }],
  'cut watches': () => ['cutWatches', { end: 'expired', probability: 0.1 }],
  'delayed events': (random) => [
    'delayEvents',
    { component: pick(random, COMPONENTS), by: '3s', probability: 0.2 },
  ],
  'duplicate events': () => ['duplicateEvents', { probability: 0.2 }],
  'stale cache': (random) => ['staleCache', { component: pick(random, COMPONENTS) }],
  'disk full': () => ['diskFull'],
  'slow disk': () => ['slowDisk', { by: '500ms', probability: 0.3 }],
  'clock jump': (random, nodes) => [
    'jumpClock',
    { component: anyComponent(random, nodes), by: random.int(2) === 0 ? '-1m' : '1m' },
  ],
} as const satisfies Record<string, (random: Random, nodes: number) => Call>;

export type FaultKind = keyof typeof KINDS;
export const FAULT_KINDS = Object.keys(KINDS) as readonly FaultKind[];

const MIN_DURATION_MS = 5_000;
/** Longer than this a node is away, or a cache stale, only where a scenario says so. */
const MAX_DURATION_MS = 180_000;
const HOUR_MS = 3_600_000;

export interface ScheduleConfig {
  readonly random: Random;
  readonly durationMs: number;
  readonly nodes: number;
  /** Default: all. */
  readonly kinds?: readonly FaultKind[];
  /** Default: 12. */
  readonly perHour?: number;
}

/** Draws a schedule: the times are independent of each other. */
export function drawSchedule(config: ScheduleConfig): readonly ScheduledFault[] {
  const { random, durationMs, nodes, kinds = FAULT_KINDS, perHour = 12 } = config;
  const count = kinds.length === 0 ? 0 : Math.round((perHour * durationMs) / HOUR_MS);
  const schedule = Array.from({ length: count }, (): ScheduledFault => {
    const kind = pick(random, kinds);
    const [method, ...args] = (KINDS[kind] as (random: Random, nodes: number) => Call)(
      random,
      nodes,
    );
    return {
      kind,
      atMs: random.int(Math.max(1, Math.floor(durationMs))),
      durationMs: MIN_DURATION_MS + random.int(MAX_DURATION_MS - MIN_DURATION_MS),
      method,
      args,
    };
  });
  return schedule.sort((a, b) => a.atMs - b.atMs);
}

/** Adds a fault to a cluster. */
export function applyFault(faults: Faults, { method, args }: ScheduledFault): Fault {
  const add = faults[method] as (...args: readonly unknown[]) => Fault;
  return add(...args);
}

/** Returns a fault as a line of code with its time. */
export function describeFault({ method, args, atMs, durationMs }: ScheduledFault): string {
  const given = args.map((argument) => JSON.stringify(argument)).join(', ');
  return `${atMs / 1000}s: faults.${method}(${given}) for ${durationMs / 1000}s`;
}

function anyNode(random: Random, nodes: number): string {
  return `kubelet/node-${1 + random.int(Math.max(1, nodes))}`;
}

function anyComponent(random: Random, nodes: number): string {
  const component = pick(random, COMPONENTS);
  return component === 'kubelet' ? anyNode(random, nodes) : component;
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.int(from.length)] as T;
}
