// Runs the same pods on upstream's kubelet and on ours, each with a containerd of its own, against
// one API server of ours. Prints the differences of statuses, events and Nodes. Needs root.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { events, nodes, pods } from '#api/groups/core/v1/index.ts';
import { runtimeClasses } from '#api/groups/node/v1/index.ts';
import type { Client } from '#client/client.ts';
import { systemClock } from '#machinery/clock.ts';
import { BuiltCluster } from '../../../bench/built-cluster.ts';
import { connectTo } from '../../../bench/connect.ts';
import { type Maker, type RunningNode, startNode } from '../../../bench/node/real-node.ts';
import { run } from '../../e2e/harness.ts';
import { writeBusyboxArchive } from '../../fixtures/images/build.ts';
import { alternating, cases } from './cases.ts';
import { comparable, type Observed } from './comparable.ts';

const NAMESPACE = 'default';
/** How long pods may take to get into the state that is compared. */
const SETTLE_MS = Number(process.env['SETTLE_SECONDS'] ?? '60') * 1000;
const READY_TIMEOUT_MS = 180_000;
/** The disk of the machine may be near the thresholds of the kubelets. */
const EVICTION_HARD = {
  'memory.available': '50Mi',
  'nodefs.available': '1%',
  'nodefs.inodesFree': '1%',
  'imagefs.available': '1%',
};

const dir = mkdtempSync(join(tmpdir(), 'coxswain-nodes-'));
const dataDir = join(dir, 'cluster');
const cluster = await BuiltCluster.start({
  flags: ['--store', 'memory', '--runtime', 'simulated', '--nodes', '1'],
  dataDir,
});
const { client, close } = connectTo(cluster.target);
let different = 0;
try {
  await client
    .resource(runtimeClasses)
    .create({ metadata: { name: 'nowhere' }, handler: 'nowhere' });
  const upstream = await observe('upstream');
  const ours = await observe('ours');
  for (const [name, lines] of Object.entries(upstream)) {
    const mine = ours[name] ?? [];
    const counts = (line: string): boolean => !alternating.has(name) || !line.includes('.state.');
    const missing = lines.filter((line) => counts(line) && !mine.includes(line));
    const additional = mine.filter((line) => counts(line) && !lines.includes(line));
    if (missing.length + additional.length === 0) continue;
    different++;
    console.log(
      `${name}\n${[...missing.map((line) => `  - ${line}`), ...additional.map((line) => `  + ${line}`)].join('\n')}`,
    );
  }
  console.log(`${Object.keys(upstream).length} compared, ${different} different`);
} finally {
  close();
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = different === 0 ? 0 : 1;

/** Returns the lines to compare, by case; 'node' is the Node itself. */
async function observe(maker: Maker): Promise<Readonly<Record<string, readonly string[]>>> {
  const node = await startNode({
    maker,
    dir: join(dir, maker),
    pki: join(dataDir, 'pki'),
    server: `https://${cluster.target.host}:${cluster.target.port}`,
    maxPods: 110,
    evictionHard: EVICTION_HARD,
  });
  try {
    return await observeOn(node, client);
  } finally {
    await node.stop();
  }
}

async function observeOn(
  node: RunningNode,
  api: Client,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const archive = join(dir, 'busybox.tar');
  writeBusyboxArchive(archive);
  const socket = node.endpoint.replace('unix://', '');
  await run('ctr', ['-a', socket, '-n', 'k8s.io', 'images', 'import', archive]);
  const inNamespace = api.resource(pods).namespace(NAMESPACE);
  const deadline = systemClock.monotonic() + READY_TIMEOUT_MS;
  const isReady = async (): Promise<boolean> =>
    (await api.resource(nodes).list()).items.some(
      ({ metadata, status }) =>
        metadata.name === node.name &&
        (status.conditions ?? []).some(
          ({ type, status: holds }) => type === 'Ready' && holds === 'True',
        ),
    );
  while (!(await isReady())) {
    if (systemClock.monotonic() > deadline) throw new Error(`${node.name} is not ready`);
    await systemClock.sleep(500);
  }
  for (const [name, spec] of Object.entries(cases))
    await inNamespace.create({ metadata: { name }, spec: { ...spec, nodeName: node.name } });
  await systemClock.sleep(SETTLE_MS);
  const recorded = (await api.resource(events).list()).items;
  const observed: Record<string, readonly string[]> = {};
  for (const { metadata, status } of (await inNamespace.list()).items) {
    const about: Observed = {
      status,
      events: recorded.filter(({ involvedObject }) => involvedObject.uid === metadata.uid),
    };
    observed[metadata.name] = comparable(about);
  }
  const { status, metadata } = await api.resource(nodes).get(node.name);
  const { labels = {}, annotations = {} } = metadata;
  observed['node'] = comparable({
    status: {
      ...status,
      images: undefined,
      addresses: undefined,
      allocatable: undefined,
      daemonEndpoints: undefined,
      labels: Object.keys(labels).sort(),
      annotations: Object.keys(annotations).sort(),
    },
    events: recorded.filter(({ involvedObject }) => involvedObject.name === node.name),
  });
  await inNamespace.deleteCollection({ gracePeriodSeconds: 0 });
  await node.untilEmpty();
  return observed;
}
