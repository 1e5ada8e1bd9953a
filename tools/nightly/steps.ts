// Everything that `npm test` does not run, as values: each step is a command.

/** The flag that gives a run addresses and names which others beside it do not have. */
export const NETWORK_FLAG = '--network';

export interface Step {
  readonly name: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The same in the short form: some minutes on two cores, and nothing is recorded. */
  readonly short: readonly string[];
  /** The step is ended after so many minutes, and has failed. */
  readonly minutes: number;
  /** Whether the command takes NETWORK_FLAG. */
  readonly takesNetwork?: boolean;
}

const npm = (script: string, ...args: readonly string[]): readonly string[] => [
  'npm',
  'run',
  '--silent',
  script,
  ...(args.length > 0 ? ['--', ...args] : []),
];

/** Returns the command of a script that package.json does not name. */
const script = (path: string, ...args: readonly string[]): readonly string[] => [
  'node',
  '--import',
  'tsx',
  path,
  ...args,
];

/** Returns a step of conformance tests. Its short form runs the tests that match `focus`. */
function conformance(name: string, minutes: number, flags: string, focus: string): Step {
  const chosen = flags.split(' ');
  return {
    name: `conformance ${name}`,
    command: npm('conformance', ...chosen, '--timeout', '600', '--record'),
    short: npm('conformance', ...chosen, '--focus', focus),
    minutes,
    takesNetwork: true,
  };
}

/** Returns a benchmark. `short` are the flags of its short form. Default: the same flags. */
function bench(name: string, minutes: number, flags = '', short = flags): Step {
  const command = (text: string): readonly string[] =>
    npm('bench', name, ...text.split(' ').filter((flag) => flag !== ''));
  return { name: `bench ${name}`, command: command(flags), short: command(short), minutes };
}

/** Programs that tests use and that are built of Go modules come first, so that no test is skipped. */
const programs: readonly Step[] = [
  { name: 'programs: operators', command: npm('operators'), short: npm('operators'), minutes: 120 },
  {
    name: 'programs: other versions',
    command: script('test/skew/build.ts'),
    short: script('test/skew/build.ts'),
    minutes: 120,
  },
];

const suites: readonly Step[] = [
  { name: 'tests', command: npm('test'), short: npm('test', 'test/scenarios'), minutes: 60 },
  conformance('API, controllers, scheduler, pods', 90, '--set A,C,S,P', 'Watchers'),
  conformance('containers', 120, '--set K', 'Secrets should be consumable via the environment'),
  conformance('network', 90, '--set N', 'Services should serve multiport endpoints'),
  conformance('network policies', 120, '--set policy --parallel 2', 'one named port'),
  conformance('enabled by default', 480, '--set default', 'RuntimeClass'),
  conformance('slow', 240, '--set slow', 'InClusterConfig with token rotation'),
  conformance('dynamic resources', 120, '--set dra', 'ResourceSlice Controller creates slices'),
  conformance('CSI driver', 240, '--set csi', 'default fs.*should create read-only inline'),
  conformance('kubectl', 60, '--set kubectl', 'run_kubectl_(?:version|results)_tests'),
  conformance(
    'swapped roles',
    480,
    '--swap all',
    'Watchers|DNS should provide DNS for the cluster',
  ),
  conformance('older kubelet', 60, '--swap kubelet=v1.34.4', 'ConfigMap should be consumable'),
  {
    name: 'shared etcd',
    command: script('test/swap/shared-etcd/main.ts'),
    short: script('test/swap/shared-etcd/main.ts', 'aesgcm'),
    minutes: 60,
  },
  {
    name: 'Gateway API',
    command: npm('gateway'),
    short: npm('gateway', '--test', 'HTTPRouteWeight'),
    minutes: 30,
  },
  {
    name: 'envtest suites',
    command: npm('envtest-suites'),
    short: npm('envtest-suites', '--package', 'pkg/builder$'),
    minutes: 90,
  },
  {
    name: 'integration suites',
    command: npm('integration-suites', '--record'),
    short: npm('integration-suites', '--package', '^quota$'),
    minutes: 480,
  },
  {
    name: 'critest',
    command: npm('conformance', 'critest'),
    short: npm('conformance', 'critest', '--focus', 'Runtime info|Idempotence'),
    minutes: 60,
  },
  {
    name: 'differential',
    command: npm('differential', '--upstream'),
    short: npm('differential', '--upstream', '--kinds', 'wire,requests,versions'),
    minutes: 120,
  },
  {
    name: 'differential: DNS',
    command: script('test/differential/dns/main.ts'),
    short: script('test/differential/dns/main.ts'),
    minutes: 60,
  },
  {
    name: 'differential: evictions',
    command: script('test/differential/eviction/main.ts', '20000', 'nightly'),
    short: script('test/differential/eviction/main.ts', '1000', 'nightly'),
    minutes: 60,
  },
  {
    name: 'differential: kubelets',
    command: script('test/differential/node/main.ts'),
    short: script('test/differential/node/main.ts'),
    minutes: 60,
  },
  {
    name: 'fuzz',
    command: npm('fuzz'),
    short: npm('fuzz', ...'--fills 10 --bodies 200 --every 20 --minutes 1'.split(' ')),
    minutes: 180,
  },
  {
    name: 'malloc checks',
    command: script('tools/nightly/malloc-checks.ts'),
    short: script('tools/nightly/malloc-checks.ts', '--short'),
    minutes: 60,
  },
  {
    name: 'node versions',
    command: script('tools/nightly/node-versions.ts'),
    short: script('tools/nightly/node-versions.ts', '--short'),
    minutes: 120,
  },
  { name: 'torture', command: npm('torture'), short: npm('torture', '--short'), minutes: 240 },
];

/** These need a quiet machine. */
const benches: readonly Step[] = [
  bench('api', 40),
  bench('start', 40),
  bench('load', 40),
  bench('store', 40),
  bench('replicaset', 40),
  bench('cores', 20),
  bench('deployments', 40),
  bench('restart', 40, '', '--nodes 50 --pods 1000'),
  bench('grown', 60, '', '--nodes 50 --pods 1000'),
  bench('node', 60, '', '--pods 20'),
  bench('scale', 120, '', '--nodes 20 --pods 200'),
  bench('at-rest', 40),
  bench('namespace', 40),
  bench('watch', 40),
  bench('scheduler', 120, '', '--workload SchedulingBasic --scale 0.1'),
  bench('dns', 40),
  bench('ingress', 40),
  bench('webhooks', 40),
  bench('extensions', 60, '', '--definitions 200'),
  bench('catalog', 40),
  bench('steps', 40),
  bench('cel', 40),
  bench('metrics', 40),
  bench('embedded', 60),
  bench('watchers', 60, '', '--watchers 100'),
  bench('console', 60, '', '--nodes 20 --pods 200'),
  bench('policy', 40),
  bench('proxy', 40),
  bench('pod-network', 40),
  bench('history', 240, '--objects 1000000 --megabytes 10000', '--objects 2000 --megabytes 20'),
  { name: 'versus', command: npm('versus'), short: npm('versus', '--rounds', '1'), minutes: 120 },
];

/** All steps, in the order in which they run. */
export const steps: readonly Step[] = [...programs, ...suites, ...benches];
