// Everything that `npm test` does not run, as values: each step is a command of package.json.

export interface Step {
  readonly name: string;
  /** Arguments of `npm run --silent`. */
  readonly command: readonly string[];
  /** The arguments in the short form, some minutes on two cores. Undefined: it leaves the step out. */
  readonly short?: readonly string[];
  /** The step is ended after so many minutes, and has failed. */
  readonly minutes: number;
}

const conformance = (name: string, minutes: number, ...flags: readonly string[]): Step => ({
  name: `conformance ${name}`,
  command: ['conformance', '--', ...flags, '--timeout', '600', '--record'],
  minutes,
});

/** Adds a short form of other flags for the same command, which records nothing. */
const withShort = (step: Step, ...flags: readonly string[]): Step => ({
  ...step,
  short: [step.command[0] ?? '', '--', ...flags],
});

const bench = (name: string, minutes: number, ...flags: readonly string[]): Step => ({
  name: `bench ${name}`,
  command: ['bench', '--', name, ...flags],
  minutes,
});

/** In the order in which they run: what needs a quiet machine comes last. */
export const steps: readonly Step[] = [
  { name: 'tests', command: ['test'], minutes: 30 },
  withShort(
    conformance('API, controllers, scheduler, pods', 90, '--set', 'A,C,S,P'),
    '--set',
    'A',
    '--focus',
    'Watchers',
  ),
  conformance('containers', 120, '--set', 'K'),
  conformance('network', 90, '--set', 'N'),
  conformance('network policies', 120, '--set', 'policy', '--parallel', '2'),
  conformance('enabled by default', 480, '--set', 'default'),
  conformance('slow', 240, '--set', 'slow'),
  withShort(
    conformance('kubectl', 60, '--set', 'kubectl'),
    '--set',
    'kubectl',
    '--focus',
    'run_kubectl_(?:version|results)_tests',
  ),
  conformance('swapped roles', 480, '--swap', 'all'),
  conformance('older kubelet', 60, '--swap', 'kubelet=v1.34.4'),
  { name: 'Gateway API', command: ['gateway'], minutes: 30 },
  { name: 'critest', command: ['conformance', '--', 'critest'], minutes: 40 },
  withShort(
    { name: 'fuzz', command: ['fuzz'], minutes: 180 },
    '--fills',
    '10',
    '--bodies',
    '200',
    '--every',
    '20',
    '--minutes',
    '1',
  ),
  withShort({ name: 'torture', command: ['torture'], minutes: 240 }, '--short'),
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

/** The steps of the short form, with its commands. */
export const shortSteps: readonly Step[] = steps.flatMap(({ name, short, minutes }) =>
  short === undefined ? [] : [{ name, command: short, minutes }],
);
