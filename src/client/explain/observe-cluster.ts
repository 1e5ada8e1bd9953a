// Reads what `clusterProblems` decides from. Pods are read in pages, and only those with problems are kept.

import type { Node, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject, ListOf } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Client } from '../client.ts';
import type { ClusterState, ComponentState } from './cluster-problems.ts';
import { findResource, type ServedResource } from './kinds.ts';
import { ObjectSet } from './object-set.ts';
import { conditionOf, podProblem } from './pod-state.ts';
import { ObjectReader } from './read-objects.ts';

export interface ObserveConfig {
  readonly client: Client;
  readonly resources: readonly ServedResource[];
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly signal?: AbortSignal;
  /** Called with the number of pods that have been read. */
  readonly onPods?: (read: number) => void;
}

const PAGE = 500;
const MAX_TROUBLED = 500;
/** Pods whose events are read. */
const MAX_EVENTS_OF = 20;
const MAX_OBJECTS = 10_000;

const LISTS = [
  'nodes',
  'apiservices.apiregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'namespaces',
  'persistentvolumeclaims',
  'storageclasses.storage.k8s.io',
  'resourceclaims.resource.k8s.io',
  'deviceclasses.resource.k8s.io',
  'replicasets.apps',
  'replicationcontrollers',
];

/** Rejects with StatusError if the server cannot be reached or does not accept the credentials. */
export async function observeCluster(config: ObserveConfig): Promise<ClusterState> {
  const { client, resources, now, signal } = config;
  const objects = new ObjectSet();
  const reader = new ObjectReader(client, objects, signal);
  const [version, components, podState] = await Promise.all([
    client.transport.request<{ readonly gitVersion: string }>({
      method: 'GET',
      path: '/version',
      ...(signal && { signal }),
    }),
    componentStates(client, signal),
    readPods(config, objects),
    ...LISTS.map((typed) => listAll(reader, resources, typed)),
  ]);
  await readBackingServices(reader, resources);
  await readEvents(reader, resources, podState.troubledPods, now);
  await readRejections(reader, resources);
  const nodes = objects.ofKind<Node>('', 'Node');
  return {
    version: version.gitVersion,
    components,
    nodes: {
      total: nodes.length,
      ready: nodes.filter((node) => conditionOf(node, 'Ready')?.status === 'True').length,
    },
    ...podState,
    objects,
    now,
  };
}

async function listAll(
  reader: ObjectReader,
  resources: readonly ServedResource[],
  typed: string,
  namespace = '',
): Promise<void> {
  const type = findResource(resources, typed);
  if (type !== undefined) await reader.list(type, { namespace, max: MAX_OBJECTS });
}

/** `[+]ping ok`, `[-]etcd failed: reason withheld`. */
const CHECK = /^\[([+-])\](\S+) (.*)$/;

/** The failing checks of the API server, and the components that it knows. Clusters may forbid either. */
async function componentStates(
  client: Client,
  signal: AbortSignal | undefined,
): Promise<readonly ComponentState[]> {
  const [server, components] = await Promise.all([
    serverState(client, signal),
    client.transport
      .request<ListOf<KubeObject & { conditions?: readonly Record<string, string>[] }>>({
        method: 'GET',
        path: '/api/v1/componentstatuses',
        ...(signal && { signal }),
      })
      .then(
        ({ items }) =>
          items.map(({ metadata, conditions = [] }): ComponentState => {
            const healthy = conditions.find(({ type }) => type === 'Healthy');
            const message = healthy?.['error'] || healthy?.['message'];
            const name = metadata.name ?? '';
            if (healthy?.['status'] === 'True') return { name, healthy: true };
            // API servers ask their own machine. Components that listen elsewhere are not there.
            const elsewhere = /refused/i.test(message ?? '');
            return { name, healthy: elsewhere ? undefined : false, ...(message && { message }) };
          }),
        (error: unknown): readonly ComponentState[] => {
          if (isRefusal(error)) return [];
          throw error;
        },
      ),
  ]);
  return [server, ...components];
}

async function serverState(
  client: Client,
  signal: AbortSignal | undefined,
): Promise<ComponentState> {
  const name = 'kube-apiserver';
  try {
    await client.transport.text({
      method: 'GET',
      path: '/readyz',
      query: { verbose: true },
      ...(signal && { signal }),
    });
    return { name, healthy: true };
  } catch (error) {
    if (signal?.aborted) throw error;
    if (apierrors.isForbidden(error)) return { name, healthy: true };
    const failed = errorMessage(error)
      .split('\n')
      .flatMap((line) => {
        const [, sign, check] = CHECK.exec(line) ?? [];
        return sign === '-' && check !== undefined ? [check] : [];
      });
    return {
      name,
      healthy: false,
      message: failed.length > 0 ? `failing checks: ${failed.join(', ')}` : errorMessage(error),
    };
  }
}

const isRefusal = (error: unknown): boolean =>
  apierrors.isForbidden(error) || apierrors.isNotFound(error);

async function readPods(
  { client, now, signal, onPods }: ObserveConfig,
  objects: ObjectSet,
): Promise<Pick<ClusterState, 'pods' | 'troubledPods' | 'troubledPodCount'>> {
  const phases: Record<string, number> = {};
  const troubledPods: Immutable<Pod>[] = [];
  let troubledPodCount = 0;
  let token = '';
  let read = 0;
  do {
    let page: ListOf<Immutable<Pod>>;
    try {
      page = await client.transport.request<ListOf<Immutable<Pod>>>({
        method: 'GET',
        path: '/api/v1/pods',
        query: { limit: PAGE, ...(token !== '' && { continue: token }) },
        ...(signal && { signal }),
      });
    } catch (error) {
      if (!apierrors.isForbidden(error)) throw error;
      objects.addUnreadable({ group: '', kind: 'Pod' }, errorMessage(error));
      break;
    }
    for (const item of page.items) {
      const phase = item.status?.phase ?? 'Pending';
      phases[phase] = (phases[phase] ?? 0) + 1;
      if (podProblem(item, now) === undefined) continue;
      troubledPodCount++;
      if (troubledPods.length < MAX_TROUBLED)
        troubledPods.push({ ...item, apiVersion: 'v1', kind: 'Pod' });
    }
    read += page.items.length;
    onPods?.(read);
    token = page.metadata.continue ?? '';
  } while (token !== '');
  return { pods: phases, troubledPods, troubledPodCount };
}

/** Services of webhooks and API services, with their endpoints. */
async function readBackingServices(
  reader: ObjectReader,
  resources: readonly ServedResource[],
): Promise<void> {
  const { objects } = reader;
  const group = 'admissionregistration.k8s.io';
  const webhooks = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'].flatMap(
    (kind) => objects.ofKind<WithServices>(group, kind).flatMap((each) => each.webhooks ?? []),
  );
  const named = [
    ...webhooks.map(({ clientConfig }) => clientConfig?.service),
    ...objects
      .ofKind<WithServices>('apiregistration.k8s.io', 'APIService')
      .map(({ spec }) => spec?.service),
  ];
  const namespaces = new Set(named.flatMap((service) => service?.namespace ?? []));
  for (const namespace of namespaces)
    await Promise.all(
      ['services', 'endpointslices.discovery.k8s.io'].map((typed) =>
        listAll(reader, resources, typed, namespace),
      ),
    );
}

interface ServiceName {
  readonly namespace?: string;
  readonly name?: string;
}

interface WithServices extends KubeObject {
  readonly spec?: { readonly service?: ServiceName };
  readonly webhooks?: readonly { readonly clientConfig?: { readonly service?: ServiceName } }[];
}

/** Events of controllers whose pods are rejected: some kinds have no condition for it. */
async function readRejections(
  reader: ObjectReader,
  resources: readonly ServedResource[],
): Promise<void> {
  const type = findResource(resources, 'events');
  if (type !== undefined)
    await reader.list(type, {
      namespace: '',
      max: MAX_OBJECTS,
      fieldSelector: 'reason=FailedCreate,type=Warning',
    });
}

/** Reads the events of pods whose status gives no reason for waiting. */
async function readEvents(
  reader: ObjectReader,
  resources: readonly ServedResource[],
  pods: readonly Immutable<Pod>[],
  now: number,
): Promise<void> {
  const type = findResource(resources, 'events');
  if (type === undefined) return;
  const silent = pods
    .filter((pod) => podProblem(pod, now)?.severity === 'waiting')
    .slice(0, MAX_EVENTS_OF);
  await Promise.all(
    silent.map(({ metadata: { namespace = '', name } }) =>
      reader.list(type, {
        namespace,
        max: PAGE,
        fieldSelector: `involvedObject.kind=Pod,involvedObject.name=${name}`,
      }),
    ),
  );
}
