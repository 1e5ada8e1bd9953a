// `npm run bench` runs all benchmarks, `npm run bench -- NAME…` some. See README.md beside this for what they measure.

import { parseArgs } from 'node:util';
import { note } from './report.ts';
import { Stolen } from './stolen.ts';

const { values: options, positionals } = parseArgs({
  options: {
    workload: { type: 'string' },
    store: { type: 'string', default: 'embedded' },
    h2: { type: 'boolean', default: false },
    'end-to-end': { type: 'boolean', default: false },
    continue: { type: 'boolean', default: false },
    scale: { type: 'string', default: '1' },
    'node-flag': { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});

const benchmarks: Readonly<Record<string, () => Promise<void>>> = {
  async api() {
    const { api } = await import('./api/bench.ts');
    await api();
  },
  async cel() {
    const { cel } = await import('./cel/bench.ts');
    cel();
  },
  async start() {
    const { start } = await import('./start/bench.ts');
    await start({ rounds: 5 });
  },
  async load() {
    const { load } = await import('./load/bench.ts');
    const store = options.store === 'memory' ? 'memory' : 'embedded';
    await load({ store, protocol: options.h2 ? 'h2' : 'h1', nodeFlags: options['node-flag'] });
  },
  async replicaset() {
    const { replicaSet } = await import('./replicaset/bench.ts');
    const store = options.store === 'embedded' ? 'embedded' : 'memory';
    await replicaSet({
      store,
      replicas: 1000,
      nodes: 20,
      rounds: Number(process.env.ROUNDS ?? 3),
      nodeFlags: options['node-flag'],
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
      nodeFlags: options['node-flag'],
    });
  },
  async scheduler() {
    const { throughput } = await import('./scheduler/throughput.ts');
    await throughput({
      ...(options.workload !== undefined && { only: options.workload }),
      endToEnd: options['end-to-end'],
      goOn: options.continue,
      scale: Number(options.scale),
      nodeFlags: options['node-flag'],
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
  async 'at-rest'() {
    const { atRest } = await import('./at-rest/bench.ts');
    await atRest();
  },
  async namespace() {
    const { namespaceDeletion } = await import('./namespace/bench.ts');
    await namespaceDeletion();
  },
  async steps() {
    const { steps } = await import('./steps/bench.ts');
    await steps();
  },
};

const names = positionals.length > 0 ? positionals : Object.keys(benchmarks);
for (const name of names) {
  const benchmark = benchmarks[name];
  if (benchmark === undefined) {
    console.error(`there is no benchmark '${name}'; there are: ${Object.keys(benchmarks).join(', ')}`);
    process.exit(1);
  }
  const stolen = new Stolen();
  await benchmark();
  const percent = stolen.percent();
  if (percent >= 0) note(`other guests of the host took ${percent.toFixed(1)} % of this machine's processors meanwhile`);
}
