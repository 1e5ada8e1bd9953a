// Measures the steps of one write and one read, in one process without a network: it explains the
// figures of `load`. Times are processor time. The least of several rounds is the most useful
// figure, since other work on the machine only adds.

import { configMaps, pods } from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import {
  decodeFromStorage,
  decodeObject,
  encodeForStorage,
  findDuplicateFields,
  spliceResourceVersion,
} from '#api/machinery/codec/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { respond } from '#apiserver/http/respond.ts';
import type { ResponseSink } from '#apiserver/http/response-sink.ts';
import { noBody } from '#apiserver/http/body-reader.ts';
import { ApiServer } from '#apiserver/server.ts';
import { LinkedAbort } from '#client/abort.ts';
import type { ApiResponse, RequestBody } from '#apiserver/request.ts';
import { systemClock } from '#machinery/clock.ts';
import { parseJson } from '#machinery/text/json.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { heading, show } from '../report.ts';

const ROUNDS = 7;
const WARM_UP_ROUNDS = 8;
const ROUND_MS = 120;

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-0',
    labels: { app: 'web', tier: 'front' },
    annotations: { note: 'one of many' },
  },
  spec: {
    containers: [
      {
        name: 'main',
        image: 'registry.example/web:1.2.3',
        command: ['/bin/web', '--port=8080'],
        ports: [{ containerPort: 8080, name: 'http' }],
        env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '128Mi' } },
        readinessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 5 },
      },
    ],
    automountServiceAccountToken: false,
  },
};
const CONFIG_MAP = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data: { value: 'abcdefgh'.repeat(128) },
};

const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {
    name: 'node-0',
    namespace: 'kube-node-lease',
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Node',
        name: 'node-0',
        uid: '7d4ae7c1-9cc4-4f4e-9d1e-0a3e3e2b8f11',
      },
    ],
  },
  spec: {
    holderIdentity: 'node-0',
    leaseDurationSeconds: 40,
    renewTime: '2026-01-01T00:00:00.000000Z',
  },
};
const MERGE_PATCH = 'application/merge-patch+json';

/**
 * Returns the processor time of one call in each round, in µs. `step` is awaited if it returns a
 * promise.
 */
async function timesOf(step: () => unknown): Promise<number[]> {
  const times: number[] = [];
  let batch = 16;
  // Code that the compiler has not optimised is several times slower, so some rounds warm it up.
  // Each round determines the number of calls of the next.
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const began = process.cpuUsage();
    for (let i = 0; i < batch; i++) {
      const result = step();
      if (result instanceof Promise) await result;
    }
    const { user, system } = process.cpuUsage(began);
    const spent = Math.max(user + system, 1);
    if (round >= 0) times.push(spent / batch);
    batch = Math.max(16, Math.round((batch * ROUND_MS * 1000) / spent));
  }
  return times;
}

async function step(what: string, run: () => unknown): Promise<void> {
  const times = await timesOf(run);
  show({ what, unit: 'µs', values: [Math.min(...times)] });
}

async function codec(
  type: ResourceType,
  object: { readonly metadata: { readonly name: string } },
): Promise<void> {
  const text = JSON.stringify(object);
  const bytes = Buffer.from(text, 'utf8');
  const scheme = newDefaultScheme();
  const known = scheme.schemas.lookup(type);
  if (known === undefined) throw new Error(`the scheme does not know ${type.kind}`);
  const decoded = decodeObject(known.message, object).object;
  const stored = encodeForStorage(decoded);
  heading(`steps: ${type.kind}, ${bytes.length} bytes of JSON`);
  await step('JSON.parse, for comparison', () => JSON.parse(bytes.toString('utf8')) as unknown);
  await step('parse, with its limits', () => parseJson(bytes));
  await step('find duplicate fields', () => findDuplicateFields(text));
  const parsed = parseJson(bytes);
  await step('decode: check types and normalize', () => decodeObject(known.message, parsed));
  await step('JSON.stringify, for comparison', () => Buffer.from(JSON.stringify(decoded), 'utf8'));
  await step('encode for the store', () => encodeForStorage(decoded));
  await step('splice the stored bytes into an answer', () => spliceResourceVersion(stored, 12_345));
  await step('decode stored bytes', () => decodeFromStorage(stored, 12_345));
}

/** A response sink that drops its input. */
const nowhere: ResponseSink = {
  writable: undefined as never,
  open: true,
  begun: false,
  begin: () => undefined,
  whole: () => undefined,
};

async function requests(): Promise<void> {
  const clock = systemClock;
  const storage = createMemoryStorage({ clock, logger: silentLogger });
  const server = new ApiServer({
    random: systemRandom,
    logger: silentLogger,
    port: 0,
    clock,
    storage,
    disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition'],
  });
  await server.start();
  const handler = server.inProcess({
    name: 'admin',
    groups: ['system:masters', 'system:authenticated'],
  });
  const call = async (
    method: string,
    path: string,
    body: RequestBody,
    contentType = 'application/json',
  ): Promise<ApiResponse> => {
    const response = await handler({
      method,
      path,
      query: new URLSearchParams(),
      headers: { 'content-type': contentType, accept: 'application/json' },
      // The in-process transport hands objects over; this benchmark is about the bytes that come
      // over a connection.
      body: body as never,
      signal: new AbortController().signal,
      call: new LinkedAbort(),
      remoteAddress: '127.0.0.1',
      warnings: [],
    });
    if (response.code >= 300) throw new Error(`${method} ${path} was answered ${response.code}`);
    await respond(undefined, response as ApiResponse, nowhere);
    return response as ApiResponse;
  };
  let serial = 0;
  const asBytes = (body: unknown): RequestBody => {
    const bytes = Buffer.from(JSON.stringify(body), 'utf8');
    return { kind: 'bytes', read: () => Promise.resolve(bytes) };
  };
  const asBody = (object: { readonly metadata: object }): RequestBody =>
    asBytes({ ...object, metadata: { ...object.metadata, name: `object-${serial++}` } });
  heading('steps: whole requests without a connection, memory store');
  await step('create a ConfigMap', () =>
    call('POST', '/api/v1/namespaces/default/configmaps', asBody(CONFIG_MAP)),
  );
  await step('create a Pod', () => call('POST', '/api/v1/namespaces/default/pods', asBody(POD)));
  await step('get a ConfigMap', () =>
    call('GET', '/api/v1/namespaces/default/configmaps/object-0', noBody),
  );
  await step('/version', () => call('GET', '/version', noBody));
  const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  await call('POST', leasesPath, asBytes(LEASE));
  let renewals = 0;
  await step('renew a Lease', () => {
    const renewTime = `2026-01-01T00:00:00.${String(renewals++ % 1_000_000).padStart(6, '0')}Z`;
    return call('PATCH', `${leasesPath}/node-0`, asBytes({ spec: { renewTime } }), MERGE_PATCH);
  });
  await server.stop();
  await storage.close();
}

export async function steps(): Promise<void> {
  await codec(configMaps, CONFIG_MAP);
  await codec(pods, POD);
  await requests();
}
