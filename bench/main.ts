// `npm run bench` runs all benchmarks, `npm run bench -- NAME…` some of them. The README beside
// this file describes each.

import { Command } from 'commander';
import { note } from './report.ts';
import { Stolen } from './stolen.ts';

interface Options {
  readonly store: string;
  readonly h2: boolean;
  readonly workers?: string;
  readonly workload?: string;
  readonly endToEnd: boolean;
  readonly continue: boolean;
  readonly scale: string;
  readonly nodes?: string;
  readonly pods?: string;
  readonly dataDir?: string;
  readonly write: boolean;
  readonly oneKubelet: boolean;
  readonly only?: string;
  readonly nodeFlag: string[];
  readonly definitions: string;
  readonly watchers: string;
  readonly perConnection?: string;
  readonly referencePid?: string;
  readonly objects: string;
  readonly megabytes: string;
  readonly kilobytes: string;
  readonly reference?: string;
  readonly token: string;
  readonly upstream: boolean;
}

const program = new Command('npm run bench --')
  .description(
    'Runs benchmarks of the built program one after the other, all of them or those that are named.',
  )
  .argument('[names...]', 'default: all')
  .option('--store <name>', 'embedded or memory (load, replicaset, deployments)', 'embedded')
  .option('--h2', 'over HTTP/2 (load)', false)
  .option(
    '--workers <numbers>',
    'API server workers beside the main process (load: 0, cores: 0,1,2,3)',
  )
  .option('--workload <name>', 'only this one (scheduler, extensions)')
  .option('--end-to-end', 'through `cox up` (scheduler)', false)
  .option('--continue', 'go on where it was interrupted (scheduler)', false)
  .option('--scale <number>', 'of the numbers of nodes and pods (scheduler)', '1')
  .option('--nodes <number>', 'simulated nodes (restart, console, grown: 1000; scale: 50,200)')
  .option(
    '--pods <number>',
    'pods (restart, console, grown: 20000; scale: 500,2000; node: 110,250)',
  )
  .option('--one-kubelet', 'the others do not run (grown)', false)
  .option(
    '--only <names>',
    'of rest,lists,changes,starts,deployments,heaps (grown); without rest, others do not wait for it',
  )
  .option('--write', 'replace the table of this version of Node in docs/scale.md (scale)', false)
  .option(
    '--data-dir <dir>',
    'fill this directory and keep it, for the next run to start from (restart, grown)',
  )
  .option('--definitions <number>', 'of custom resources (extensions)', '10000')
  .option('--watchers <numbers>', 'of one object (watchers)', '1000,10000')
  .option('--per-connection <number>', 'watches of a connection (watchers: 1, then 100)')
  .option('--reference-pid <pid>', 'process of --reference, for its processor time (watchers)')
  .option('--objects <number>', 'in the store (history)', '20000')
  .option('--megabytes <number>', 'written again and again (history)', '200')
  .option('--kilobytes <numbers>', 'sizes of the written values (history)', '1')
  .option(
    '--reference <url>',
    'another API server, to measure in the same run, whatever its certificate (webhooks, extensions, watchers)',
  )
  .option(
    '--upstream',
    "beside upstream's kube-apiserver and etcd (embedded), kubelet (node)",
    false,
  )
  .option(
    '--token <token>',
    'of an administrator of --reference (webhooks, extensions, watchers)',
    '',
  )
  .option(
    '--node-flag <flag>',
    "of Node, to the cluster's process, as often as need be (load, replicaset, deployments, " +
      'scheduler, restart, extensions, scale, grown, watchers, node)',
    collect,
    [],
  );

/** The benchmarks that each option applies to. */
const OPTION_OF: Readonly<Record<keyof Options, readonly string[]>> = {
  store: ['load', 'replicaset', 'deployments'],
  h2: ['load'],
  workers: ['load', 'cores'],
  workload: ['scheduler', 'extensions'],
  endToEnd: ['scheduler'],
  continue: ['scheduler'],
  scale: ['scheduler'],
  nodes: ['restart', 'scale', 'console', 'grown'],
  pods: ['restart', 'scale', 'console', 'grown', 'node'],
  oneKubelet: ['grown'],
  only: ['grown'],
  write: ['scale'],
  dataDir: ['restart', 'grown'],
  nodeFlag: [
    'load',
    'cores',
    'replicaset',
    'deployments',
    'scheduler',
    'restart',
    'extensions',
    'scale',
    'grown',
    'watchers',
    'node',
  ],
  definitions: ['extensions'],
  watchers: ['watchers'],
  perConnection: ['watchers'],
  referencePid: ['watchers'],
  objects: ['history'],
  megabytes: ['history'],
  kilobytes: ['history'],
  reference: ['webhooks', 'extensions', 'watchers'],
  token: ['webhooks', 'extensions', 'watchers'],
  upstream: ['embedded', 'node'],
};

function collect(flag: string, flags: string[]): string[] {
  return [...flags, flag];
}

const benchmarks: Readonly<Record<string, () => Promise<void>>> = {
  async api() {
    const { api } = await import('./api/bench.ts');
    await api();
  },
  async dns() {
    const { dns } = await import('./dns/bench.ts');
    await dns();
  },
  async ingress() {
    const { ingress } = await import('./ingress/bench.ts');
    await ingress();
  },
  async cel() {
    const { cel } = await import('./cel/bench.ts');
    cel();
  },
  async start() {
    const { start } = await import('./start/bench.ts');
    await start({ rounds: 5 });
  },
  async embedded() {
    const { embedded } = await import('./embedded/bench.ts');
    await embedded({ upstream: options.upstream });
  },
  async load() {
    const { load } = await import('./load/bench.ts');
    const store = options.store === 'memory' ? 'memory' : 'embedded';
    await load({
      store,
      protocol: options.h2 ? 'h2' : 'h1',
      nodeFlags: options.nodeFlag,
      workers: Number(options.workers ?? 0),
    });
  },
  async cores() {
    const { cores } = await import('./cores/bench.ts');
    const workers = (options.workers ?? '0,1,2,3').split(',').map(Number);
    await cores({ workers, nodeFlags: options.nodeFlag });
  },
  async replicaset() {
    const { replicaSet } = await import('./replicaset/bench.ts');
    const store = options.store === 'embedded' ? 'embedded' : 'memory';
    await replicaSet({
      store,
      replicas: 1000,
      nodes: 20,
      rounds: Number(process.env.ROUNDS ?? 3),
      nodeFlags: options.nodeFlag,
    });
  },
  async deployments() {
    const { manyDeployments } = await import('./deployments/bench.ts');
    const store = options.store === 'embedded' ? 'embedded' : 'memory';
    await manyDeployments({
      store,
      deployments: 1000,
      replicas: 10,
      nodes: 100,
      rounds: Number(process.env.ROUNDS ?? 1),
      nodeFlags: options.nodeFlag,
    });
  },
  async scheduler() {
    const { throughput } = await import('./scheduler/throughput.ts');
    await throughput({
      ...(options.workload !== undefined && { only: options.workload }),
      endToEnd: options.endToEnd,
      goOn: options.continue,
      scale: Number(options.scale),
      nodeFlags: options.nodeFlag,
    });
  },
  async restart() {
    const { restart } = await import('./restart/bench.ts');
    await restart({
      nodes: Number(options.nodes ?? 1000),
      pods: Number(options.pods ?? 20_000),
      rounds: Number(process.env.ROUNDS ?? 1),
      dataDir: options.dataDir,
      nodeFlags: options.nodeFlag,
    });
  },
  async scale() {
    const { scale, parseSizes } = await import('./scale/bench.ts');
    const sizes = parseSizes(options.nodes ?? '50,200', options.pods ?? '500,2000');
    await scale({ sizes, write: options.write, nodeFlags: options.nodeFlag });
  },
  async node() {
    const { node } = await import('./node/bench.ts');
    const pods = (options.pods ?? '110,250').split(',').map(Number);
    await node({ pods, upstream: options.upstream, nodeFlags: options.nodeFlag });
  },
  async grown() {
    const { grown, GROWN_FIGURES } = await import('./grown/bench.ts');
    const only = options.only?.split(',');
    const unknown = only?.find((name) => !GROWN_FIGURES.some((figure) => figure === name));
    if (unknown !== undefined) program.error(`error: grown has no figure '${unknown}'`);
    await grown({
      nodes: Number(options.nodes ?? 1000),
      pods: Number(options.pods ?? 20_000),
      kubelets: !options.oneKubelet,
      dataDir: options.dataDir,
      nodeFlags: options.nodeFlag,
      ...(only !== undefined && { only: new Set(only) }),
    });
  },
  async store() {
    const { store } = await import('./store/bench.ts');
    await store();
  },
  async watch() {
    const { watch } = await import('./watch/bench.ts');
    await watch();
  },
  async history() {
    const { history } = await import('./storage/history.ts');
    await history({
      objects: Number(options.objects),
      megabytes: Number(options.megabytes),
      kilobytes: options.kilobytes.split(',').map(Number),
    });
  },
  async watchers() {
    const { numbersOf, watchers } = await import('./watchers/bench.ts');
    await watchers({
      watchers: numbersOf(options.watchers),
      nodeFlags: options.nodeFlag,
      ...(options.perConnection !== undefined && {
        perConnection: Number(options.perConnection),
      }),
      ...(options.reference !== undefined && {
        reference: {
          url: options.reference,
          token: options.token,
          ...(options.referencePid !== undefined && { pid: Number(options.referencePid) }),
        },
      }),
    });
  },
  async console() {
    const { consolePage } = await import('./console/bench.ts');
    await consolePage({
      nodes: Number(options.nodes ?? 1000),
      pods: Number(options.pods ?? 20_000),
    });
  },
  async 'at-rest'() {
    const { atRest } = await import('./at-rest/bench.ts');
    await atRest();
  },
  async namespace() {
    const { namespaceDeletion } = await import('./namespace/bench.ts');
    await namespaceDeletion();
  },
  async catalog() {
    const { catalog } = await import('./catalog/bench.ts');
    await catalog();
  },
  async webhooks() {
    const { webhooks } = await import('./webhooks/bench.ts');
    await webhooks({
      token: options.token,
      ...(options.reference !== undefined && { reference: options.reference }),
    });
  },
  async extensions() {
    const { extensions } = await import('./extensions/bench.ts');
    await extensions({
      definitions: Number(options.definitions),
      nodeFlags: options.nodeFlag,
      ...(options.workload !== undefined && { only: options.workload }),
      ...(options.reference !== undefined && {
        reference: { url: options.reference, token: options.token },
      }),
    });
  },
  async policy() {
    const { policy } = await import('./policy/bench.ts');
    await policy();
  },
  async proxy() {
    const { proxy } = await import('./proxy/bench.ts');
    await proxy();
  },
  async 'pod-network'() {
    const { podNetwork } = await import('./pod-network/bench.ts');
    await podNetwork();
  },
  async metrics() {
    const { metrics } = await import('./metrics/bench.ts');
    await metrics();
  },
  async steps() {
    const { steps } = await import('./steps/bench.ts');
    await steps();
  },
};

program
  .addHelpText(
    'after',
    `\nBenchmarks: ${Object.keys(benchmarks).join(', ')}\n\nExample: npm run bench -- load --node-flag=--cpu-prof`,
  )
  .parse();
const options = program.opts<Options>();
const names = program.args.length > 0 ? program.args : Object.keys(benchmarks);
for (const [option, takers] of Object.entries(OPTION_OF)) {
  if (program.getOptionValueSource(option) !== 'cli' || names.some((name) => takers.includes(name)))
    continue;
  const flag = program.options.find((each) => each.attributeName() === option)?.long;
  program.error(`error: option '${flag}' is for ${takers.join(', ')}`);
}
for (const name of names) {
  const benchmark = benchmarks[name];
  if (benchmark === undefined) {
    console.error(
      `there is no benchmark '${name}'; there are: ${Object.keys(benchmarks).join(', ')}`,
    );
    process.exit(1);
  }
  const stolen = new Stolen();
  await benchmark();
  const percent = stolen.percent();
  if (percent >= 0)
    note(
      `other guests of the host took ${percent.toFixed(1)} % of this machine's processors meanwhile`,
    );
}
