// Measures the cost of the API's own work, in one process without a network: pods in protobuf,
// writes with and without managed fields, and the memory of stored pods. Times are processor time,
// the best of several rounds.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { DescriptorCodec } from '#api/machinery/codec/descriptor-codec.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import {
  decodeProtobuf,
  encodeProtobuf,
  openEnvelope,
} from '#api/machinery/codec/protobuf/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { FieldManager } from '#api/machinery/managed-fields/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import type { ApiResponse, RequestBody } from '#apiserver/request.ts';
import { noBody } from '#apiserver/http/body-reader.ts';
import { ApiServer } from '#apiserver/server.ts';
import { LinkedAbort } from '#client/abort.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { heading, show } from '../report.ts';

const ROUNDS = 5;
const ROUND_MS = 100;
const TURNS = 3;
const CACHED_PODS = 10_000;
const POD_KIND = { group: '', version: 'v1', kind: 'Pod' };

const pod = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: 'web', tier: 'front' } },
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
  },
});

/** Returns the calls per second of processor time, in the best round. */
async function perSecond(run: () => unknown): Promise<number> {
  let best = 0;
  let batch = 16;
  // The first rounds warm up the compiler, and find out how many calls fill one round.
  for (let round = -3; round < ROUNDS; round++) {
    const began = process.cpuUsage();
    for (let i = 0; i < batch; i++) {
      const result = run();
      if (result instanceof Promise) await result;
    }
    const { user, system } = process.cpuUsage(began);
    const spent = Math.max(user + system, 1);
    if (round >= 0) best = Math.max(best, (batch * 1e6) / spent);
    else batch = Math.max(16, Math.round((batch * ROUND_MS * 1000) / spent));
  }
  return best;
}

async function figure(
  what: string,
  run: () => unknown,
  comparedWith?: { name: string; value: number },
): Promise<number> {
  const value = await perSecond(run);
  show({ what, unit: '/s', values: [value], ...(comparedWith !== undefined && { comparedWith }) });
  return value;
}

async function protobuf(): Promise<void> {
  const message = allSchemas.message('core/v1.Pod');
  const { object } = decodeObject<object>(message, pod('web-0'));
  newDefaultScheme()
    .codecOf(POD_KIND)
    ?.applyDefaults(object as Record<string, unknown>);
  const bytes = encodeProtobuf(message, object);
  const json = Buffer.from(JSON.stringify(object), 'utf8');
  heading(`api: a pod, ${bytes.length} bytes of protobuf, ${json.length} of JSON`);
  const parse = await perSecond(() => JSON.parse(json.toString('utf8')) as unknown);
  await figure('protobuf decode', () => decodeProtobuf(message, openEnvelope(bytes)), {
    name: 'JSON.parse',
    value: parse,
  });
  const stringify = await perSecond(() => Buffer.from(JSON.stringify(object), 'utf8'));
  await figure('protobuf encode', () => encodeProtobuf(message, object), {
    name: 'JSON.stringify',
    value: stringify,
  });
}

const body = (object: object): RequestBody => {
  const bytes = Buffer.from(JSON.stringify(object), 'utf8');
  return { kind: 'bytes', read: () => Promise.resolve(bytes) };
};

async function writes(): Promise<void> {
  const storage = createMemoryStorage({ clock: systemClock, logger: silentLogger });
  const server = new ApiServer({
    random: systemRandom,
    logger: silentLogger,
    port: 0,
    clock: systemClock,
    storage,
    disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition'],
  });
  await server.start();
  const handler = server.inProcess({
    name: 'admin',
    groups: ['system:masters', 'system:authenticated'],
  });
  const PODS = '/api/v1/namespaces/default/pods';
  const call = async (method: string, path: string, sent: RequestBody): Promise<ApiResponse> => {
    const response = await handler({
      method,
      path,
      query: new URLSearchParams(),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      // The in-process transport hands objects over; this benchmark is about the bytes that come
      // over a connection.
      body: sent as never,
      signal: new AbortController().signal,
      call: new LinkedAbort(),
      remoteAddress: '127.0.0.1',
      warnings: [],
    });
    if (response.code >= 300) throw new Error(`${method} ${path} was answered ${response.code}`);
    return response as ApiResponse;
  };
  let serial = 0;
  const create = (): Promise<unknown> => call('POST', PODS, body(pod(`pod-${serial++}`)));

  heading('api: requests about pods, memory store, beside the same without managed fields');
  // A new object always has managed fields: their size is that of the request without what the
  // field manager needs.
  const message = allSchemas.message('core/v1.Pod');
  const codec = new DescriptorCodec({ kind: POD_KIND, message });
  const manager = new FieldManager({ codec, subresource: '', now: () => systemClock.now() });
  const { object } = decodeObject<{ metadata: object }>(message, pod('web-0'));
  newDefaultScheme().codecOf(POD_KIND)?.applyDefaults(object);
  const managing = await perSecond(() => manager.update(undefined, object, 'bench'));
  const creating = await perSecond(create);
  const creatingWithout = 1 / (1 / creating - 1 / managing);
  show({
    what: 'create',
    unit: '/s',
    values: [creating],
    comparedWith: { name: 'without', value: creatingWithout },
  });

  let change = 0;
  const changed = (name: string, more: object): RequestBody => {
    const { metadata, ...rest } = pod(name) as { readonly metadata: object };
    return body({
      ...rest,
      metadata: { ...metadata, annotations: { change: String(change++) }, ...more },
    });
  };
  await call('POST', PODS, body(pod('with')));
  await call('POST', PODS, body(pod('without')));
  // An empty entry turns the tracking of managed fields off.
  await call('PUT', `${PODS}/without`, changed('without', { managedFields: [{}] }));
  // The two take turns: the one that runs first warms up code for the other.
  const best = { with: 0, without: 0 };
  for (let turn = 0; turn < TURNS; turn++) {
    for (const name of ['with', 'without'] as const) {
      best[name] = Math.max(
        best[name],
        await perSecond(() => call('PUT', `${PODS}/${name}`, changed(name, {}))),
      );
    }
  }
  show({
    what: 'update',
    unit: '/s',
    values: [best.with],
    comparedWith: { name: 'without', value: best.without },
  });

  heading(`api: memory of ${CACHED_PODS} pods`);
  const before = await resident();
  for (let i = 0; i < CACHED_PODS; i++) await call('POST', PODS, body(pod(`cached-${i}`)));
  show({
    what: 'stored and cached by the server',
    unit: 'MB',
    values: [((await resident()) - before) / 1e6],
  });
  await call('GET', PODS, noBody);
  await server.stop();
  await storage.close();
}

/** Returns the bytes in use after a garbage collection. */
async function resident(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) {
    collect();
    await systemClock.sleep(10);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export async function api(): Promise<void> {
  await protobuf();
  await writes();
}
