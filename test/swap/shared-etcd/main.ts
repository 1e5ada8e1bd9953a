// Two API servers on one etcd, upstream's and ours: each reads, updates and deletes what the other
// has stored, every kind of the API, with encryption and without. The README of the folder above
// says how to run it.

import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import type { Remote } from '../../differential/remote.ts';
import { samples } from '../../differential/samples.ts';
import { type KindManifest, kindManifests } from '../../e2e/kinds.ts';
import { compareWatches, exchange, type Place, type ReportComparison } from './exchange.ts';
import { type Provider, type SharedEtcd, startShared } from './servers.ts';

const key = () => ({
  keys: [{ name: 'one', secret: Buffer.from(systemRandom.bytes(32)).toString('base64') }],
});
const PROVIDERS: readonly (readonly [string, Provider | undefined])[] = [
  ['without encryption', undefined],
  ['aescbc', { aescbc: key() }],
  ['aesgcm', { aesgcm: key() }],
  ['secretbox', { secretbox: key() }],
];
/** Kinds in versions that the other samples do not have. */
const ownSamples: readonly KindManifest[] = [
  {
    resource: 'events.events.k8s.io',
    kind: 'Event',
    manifest: {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'shared' },
      eventTime: '2030-01-01T00:00:00.000000Z',
      type: 'Normal',
      reason: 'Shared',
      action: 'Share',
      note: 'shared',
      reportingController: 'example.com/shared',
      reportingInstance: 'shared-0',
      regarding: { apiVersion: 'v1', kind: 'Pod', name: 'shared', namespace: 'default' },
    },
  },
  {
    resource: 'horizontalpodautoscalers.v1.autoscaling',
    kind: 'HorizontalPodAutoscaler',
    manifest: {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'shared' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shared' },
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 60,
      },
    },
  },
];
const GET = { method: 'GET', type: '', body: '', changes: [] } as const;

/** Definitions of several servers are established after some seconds. */
const ESTABLISHED = { clock: systemClock, intervalMs: 100, timeoutMs: 60_000 };

let compared = 0;
let different = 0;

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  for (const [name, provider] of PROVIDERS) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const shared = await startShared(provider, (text) => console.error(text));
    try {
      await run(shared, (what, difference) => {
        compared++;
        if (difference === undefined) return;
        different++;
        console.log(`${name}: ${what}\n  ${difference}`);
      });
    } finally {
      await shared.stop();
    }
  }
  console.log(`${compared} compared, ${different} different`);
  if (compared === 0)
    throw new UserError(
      `no such way to encrypt; there are: ${PROVIDERS.map(([n]) => n).join(', ')}`,
    );
  if (different > 0) process.exitCode = 1;
}

async function run(shared: SharedEtcd, report: ReportComparison): Promise<void> {
  const { ours, upstream } = shared;
  const places = await placesOf(shared);
  const manifests = [...kindManifests, ...samples, ...ownSamples];
  const start = (await upstream.send({ ...GET, path: '/api/v1/namespaces' })).body as {
    readonly metadata: { readonly resourceVersion: string };
  };
  const used = new Set<string>();
  for (const servers of [
    [ours, upstream],
    [upstream, ours],
  ] as const) {
    const missing = new Set(places.keys());
    for (const sample of manifests) {
      const place = places.get(keyOf(sample));
      if (place === undefined) continue;
      used.add(place.collection);
      if (await exchange(sample, place, servers, report)) missing.delete(keyOf(sample));
    }
    for (const kind of missing) report(kind, 'no sample of it can be created');
    await exchangeWidget(servers, report);
  }
  const names = new Set(
    manifests.map(({ manifest }) => (manifest['metadata'] as { readonly name: string }).name),
  );
  await Promise.all(
    [...used].map((collection) =>
      compareWatches(collection, start.metadata.resourceVersion, names, shared, report),
    ),
  );
}

/** The same for an object of a definition that the writer has created. */
async function exchangeWidget(
  servers: readonly [Remote, Remote],
  report: ReportComparison,
): Promise<void> {
  const [writer, reader] = servers;
  const definition = kindManifests.find(({ kind }) => kind === 'CustomResourceDefinition');
  const collection = '/apis/kinds.example.com/v1/namespaces/default/widgets';
  const type = 'application/json';
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const body = JSON.stringify(definition?.manifest);
  await writer.send({ method: 'POST', path, type, body, changes: [] });
  for (const server of servers) {
    const isServed = async (): Promise<boolean> =>
      (await server.send({ ...GET, path: collection })).code === 200;
    await wait.pollImmediately(ESTABLISHED, isServed);
  }
  const place = { collection, apiVersion: 'kinds.example.com/v1', kind: 'Widget' };
  const manifest = { apiVersion: place.apiVersion, kind: place.kind, metadata: { name: 'shared' } };
  const widget = { resource: 'widgets.kinds.example.com', kind: 'Widget', manifest };
  report(collection, (await exchange(widget, place, servers, report)) ? undefined : 'rejected');
  await reader.send({ ...GET, method: 'DELETE', path: `${path}/widgets.kinds.example.com` });
  const isGone = async (): Promise<boolean> => {
    const codes = servers.map(
      async (server) => (await server.send({ ...GET, path: collection })).code,
    );
    return (await Promise.all(codes)).every((code) => code === 404);
  };
  await wait.pollImmediately(ESTABLISHED, isGone);
}

const keyOf = ({ kind, manifest }: KindManifest): string =>
  `${String(manifest['apiVersion'])} ${kind}`;

/** Returns where both serve objects that are stored, by version and kind. */
async function placesOf({ upstream }: SharedEtcd): Promise<ReadonlyMap<string, Place>> {
  const groups = (await upstream.send({ ...GET, path: '/apis' })).body as {
    readonly groups: readonly { readonly versions: readonly { readonly groupVersion: string }[] }[];
  };
  const versions = groups.groups.flatMap(({ versions }) => versions.map((v) => v.groupVersion));
  const places = new Map<string, Place>();
  for (const apiVersion of ['v1', ...versions]) {
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const { resources } = (await upstream.send({ ...GET, path: root })).body as {
      readonly resources: readonly {
        readonly name: string;
        readonly kind: string;
        readonly namespaced: boolean;
        readonly verbs: readonly string[];
      }[];
    };
    for (const { name, kind, namespaced, verbs } of resources) {
      if (name.includes('/') || !verbs.includes('create') || !verbs.includes('watch')) continue;
      const collection = `${root}${namespaced ? '/namespaces/default' : ''}/${name}`;
      places.set(`${apiVersion} ${kind}`, { collection, apiVersion, kind });
    }
  }
  return places;
}

main().catch((error: unknown) => {
  console.error(
    error instanceof UserError ? error.message : String((error as Error)?.stack ?? error),
  );
  process.exitCode = 1;
});
