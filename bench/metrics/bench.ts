// `npm run bench -- metrics`: measures what metrics of nodes and pods cost, while they are requested
// as an autoscaler does, and what priority and fairness adds to a request.

import { maxInFlight } from '#apiserver/filters/max-in-flight.ts';
import { requestInfo } from '#apiserver/filters/request-info.ts';
import { FlowControl, flowControlFilter } from '#apiserver/flow-control/index.ts';
import type { ApiResponse, Filter } from '#apiserver/request.ts';
import { rawRequest } from '#apiserver/testing/requests.ts';
import { podMetrics } from '#api/groups/metrics/v1beta1/index.ts';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { heading, show } from '../report.ts';
import { realNode } from './real-node.ts';

const NODES = 50;
const PODS_PER_NODE = 20;
const READS = 12;
/** Between two requests of an autoscaler, in ms. */
const AUTOSCALER_PERIOD_MS = 15_000;

export async function metrics(): Promise<void> {
  await scrapes();
  await realNode();
  await filters();
}

async function scrapes(): Promise<void> {
  heading(
    `metrics of ${NODES} simulated nodes with ${PODS_PER_NODE} pods each, all pods per request`,
  );
  const cluster = await startCluster({ clock: 'virtual', nodes: NODES });
  try {
    await cluster.apply(deployment(NODES * PODS_PER_NODE));
    await cluster.waitFor(deployments, 'web', 'Available', { timeoutMs: 600_000 });
    const access = cluster.client.resource(podMetrics).namespace('default');
    await access.list();
    const perScrape: number[] = [];
    const heapBefore = heapBytes();
    for (let read = 0; read < READS; read++) {
      await cluster.clock.advance(AUTOSCALER_PERIOD_MS);
      const start = process.cpuUsage();
      const { items } = await access.list();
      const { user, system } = process.cpuUsage(start);
      if (items.length !== NODES * PODS_PER_NODE) throw new Error(`${items.length} pods only`);
      perScrape.push((user + system) / 1000 / NODES);
    }
    show({ what: 'CPU of one request, per node', unit: 'ms', values: perScrape });
    show({
      what: 'CPU of a request every 15 s, per node',
      unit: 'mCPU',
      values: perScrape.map((ms) => (ms / AUTOSCALER_PERIOD_MS) * 1000),
      goal: { atMost: 1 },
    });
    show({
      what: 'memory that stays, per node',
      unit: 'MB',
      values: [Math.max(0, heapBytes() - heapBefore) / 1e6 / NODES],
      goal: { atMost: 2 },
    });
  } finally {
    await cluster.stop();
  }
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

const deployment = (replicas: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
`;

const ROUNDS = 7;
const REQUESTS = 100_000;
const OK: ApiResponse = { code: 200, body: { kind: 'none' } };

async function filters(): Promise<void> {
  heading('the filter of requests in flight, by itself');
  const control = new FlowControl({ clock: systemClock, seats: 600 });
  await round('one limit for reads and one for writes', maxInFlight());
  await round('priority and fairness, with the mandatory objects', flowControlFilter(control));
  control.stop();
}

async function round(what: string, filter: Filter): Promise<void> {
  const handler = filter(() => Promise.resolve(OK));
  const user = { name: 'u', groups: ['system:authenticated'] };
  const request = rawRequest({ path: '/api/v1/namespaces/default/configmaps/a', user });
  await requestInfo(() => Promise.resolve(OK))(request);
  const values: number[] = [];
  for (let count = 0; count < ROUNDS; count++) {
    const start = process.cpuUsage();
    for (let sent = 0; sent < REQUESTS; sent++) await handler(request);
    const { user: cpu } = process.cpuUsage(start);
    values.push((cpu * 1000) / REQUESTS);
  }
  show({ what, unit: 'ns', values });
}
