// Everything that `npm test` does not run, as values: each step is a command of package.json.

export interface Step {
  readonly name: string;
  /** Arguments of `npm run --silent`. */
  readonly command: readonly string[];
  /** The step is ended after so many minutes, and has failed. */
  readonly minutes: number;
}

const conformance = (name: string, minutes: number, ...flags: readonly string[]): Step => ({
  name: `conformance ${name}`,
  command: ['conformance', '--', ...flags, '--timeout', '600', '--record'],
  minutes,
});

const bench = (name: string, minutes: number, ...flags: readonly string[]): Step => ({
  name: `bench ${name}`,
  command: ['bench', '--', name, ...flags],
  minutes,
});

/** In the order in which they run: what needs a quiet machine comes last. */
export const steps: readonly Step[] = [
  { name: 'tests', command: ['test'], minutes: 30 },
  conformance('API, controllers, scheduler, pods', 90, '--set', 'A,C,S,P'),
  conformance('containers', 120, '--set', 'K'),
  conformance('network', 90, '--set', 'N'),
  conformance('network policies', 120, '--set', 'policy', '--parallel', '2'),
  conformance('enabled by default', 480, '--set', 'default'),
  conformance('slow', 240, '--set', 'slow'),
  conformance('swapped roles', 480, '--swap', 'all'),
  { name: 'Gateway API', command: ['gateway'], minutes: 30 },
  { name: 'kubectl commands', command: ['kubectl-commands'], minutes: 30 },
  { name: 'fuzz', command: ['fuzz'], minutes: 180 },
  { name: 'torture', command: ['torture'], minutes: 240 },
  ...[
    'api',
    'start',
    'load',
    'store',
    'replicaset',
    'deployments',
    'restart',
    'at-rest',
    'namespace',
    'watch',
    'scheduler',
    'dns',
    'webhooks',
    'extensions',
    'catalog',
    'steps',
    'cel',
    'embedded',
    'watchers',
  ].map((name) => bench(name, 40)),
  bench('history', 240, '--objects', '1000000', '--megabytes', '10000'),
  { name: 'versus', command: ['versus'], minutes: 60 },
];
