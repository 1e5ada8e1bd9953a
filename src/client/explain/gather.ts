// Reads what an explanation of one object needs: the object, its owners, its namespace's objects, and what those
// refer to.

import type { Pod, Service } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as labels from '#machinery/selectors/labels.ts';
import type { Client } from '../client.ts';
import { isBuiltInGroup, type ObjectRef } from './cause.ts';
import { controllerOf, referenceOf } from './explain.ts';
import { neededBy } from './explain-pod.ts';
import { findResource, type ServedResource } from './kinds.ts';
import { ObjectSet, refOf } from './object-set.ts';
import { conditionOf } from './pod-state.ts';
import { ObjectReader } from './read-objects.ts';

export interface GatherConfig {
  readonly client: Client;
  /** The result of servedResources. */
  readonly resources: readonly ServedResource[];
  readonly signal?: AbortSignal;
}

export interface Target {
  readonly type: ServedResource;
  /** For namespaced resources. */
  readonly namespace: string;
  readonly name: string;
}

export interface Gathered {
  readonly object: KubeObject;
  readonly objects: ObjectSet;
  /** Pods that belong to the object and have no node: the scheduler is to be asked about them. */
  readonly unscheduled: readonly Immutable<Pod>[];
}

const MAX_OBJECTS = 5000;
const MAX_OWNERS = 8;
/** ConfigMaps, Secrets and volumes that are looked up one by one. */
const MAX_LOOKUPS = 50;
const MAX_CUSTOM_KINDS = 100;
const MAX_UNSCHEDULED = 10;

/** The kinds that are read in the namespace of the object. */
const IN_NAMESPACE = [
  'pods',
  'events',
  'services',
  'persistentvolumeclaims',
  'resourceclaims.resource.k8s.io',
  'replicationcontrollers',
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'ingresses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'endpointslices.discovery.k8s.io',
  'poddisruptionbudgets.policy',
  'resourcequotas',
];
const OF_CLUSTER = [
  'nodes',
  'storageclasses.storage.k8s.io',
  'deviceclasses.resource.k8s.io',
  'ingressclasses.networking.k8s.io',
];

/** Rejects with StatusError if the object cannot be read. What else cannot be read is recorded in the set. */
export async function gather(config: GatherConfig, target: Target): Promise<Gathered> {
  const { client, signal } = config;
  const { type, namespace, name } = target;
  const objects = new ObjectSet();
  const reader = new ObjectReader(client, objects, signal);
  const all = client.resource(type);
  const read = await (type.namespaced ? all.namespace(namespace) : all).get(
    name,
    signal ? { signal } : {},
  );
  const object = withType(read, type);
  objects.add(object);
  const list = (typed: string, request: Partial<Parameters<ObjectReader['list']>[1]> = {}) => {
    const found = findResource(config.resources, typed);
    if (found === undefined) return Promise.resolve();
    const inNamespace = found.namespaced ? namespace : '';
    return reader.list(found, { namespace: inNamespace, max: MAX_OBJECTS, ...request });
  };
  if (type.namespaced) {
    await Promise.all([...IN_NAMESPACE, ...OF_CLUSTER].map((typed) => list(typed)));
  } else {
    await list('events', {
      namespace: '',
      fieldSelector: `involvedObject.kind=${type.kind},involvedObject.name=${name}`,
    });
    if (type.kind === 'Node')
      await list('pods', { namespace: '', fieldSelector: `spec.nodeName=${name}` });
    for (const each of referencedNamespaces(object))
      await Promise.all(
        ['services', 'endpointslices.discovery.k8s.io'].map((typed) =>
          list(typed, { namespace: each }),
        ),
      );
  }
  if (!isBuiltInGroup(type.group)) await readCustomKinds(config, reader, namespace);
  await readOwners(config, reader, object);
  const pods = podsOf(object, objects);
  await readNeeded(config, reader, pods, namespace);
  const unscheduled = pods
    .filter((pod) => !pod.spec.nodeName && conditionOf(pod, 'PodScheduled')?.status !== 'True')
    .slice(0, MAX_UNSCHEDULED);
  return { object, objects, unscheduled };
}

function withType(object: KubeObject, { group, version, kind }: ServedResource): KubeObject {
  return { ...object, apiVersion: group === '' ? version : `${group}/${version}`, kind };
}

/** Custom resources own others of any kind. */
async function readCustomKinds(
  { resources }: GatherConfig,
  reader: ObjectReader,
  namespace: string,
): Promise<void> {
  const custom = resources
    .filter(
      ({ group, namespaced, verbs }) =>
        !isBuiltInGroup(group) && verbs.includes('list') && (namespaced || namespace === ''),
    )
    .slice(0, MAX_CUSTOM_KINDS);
  await Promise.all(
    custom.map((type) =>
      reader.list(type, { namespace: type.namespaced ? namespace : '', max: MAX_OBJECTS }),
    ),
  );
}

async function readOwners(
  { resources }: GatherConfig,
  reader: ObjectReader,
  object: KubeObject,
): Promise<void> {
  let current: KubeObject | undefined = object;
  for (let depth = 0; depth < MAX_OWNERS && current !== undefined; depth++) {
    const reference = controllerOf(current);
    if (reference === undefined) return;
    const ref: ObjectRef = referenceOf(reference, current);
    const known: KubeObject | undefined = reader.objects.byUid(reference.uid);
    const type = resources.find(
      ({ group, kind }) => group === ref.group && kind === reference.kind,
    );
    if (known === undefined && type !== undefined) current = await reader.get(type, ref);
    else current = known;
  }
}

/** Returns the pods that the state of the object depends on. */
export function podsOf(object: KubeObject, objects: ObjectSet): readonly Immutable<Pod>[] {
  const { namespace = '' } = object.metadata;
  const { kind } = refOf(object);
  const pods = objects.ofKind<Pod>('', 'Pod', namespace);
  if (kind === 'Pod') return [object as Immutable<Pod>];
  if (kind === 'Service') {
    const { selector } = (object as Immutable<Service>).spec;
    if (!selector || Object.keys(selector).length === 0) return [];
    const wanted = labels.selectorFromSet(selector);
    return pods.filter(({ metadata }) => wanted.matches(metadata.labels));
  }
  const found: Immutable<Pod>[] = [];
  const seen = new Set<string>();
  const queue: KubeObject[] = [object];
  for (const owner of queue) {
    if (seen.has(owner.metadata.uid ?? '') || seen.size > MAX_OBJECTS) continue;
    seen.add(owner.metadata.uid ?? '');
    for (const child of objects.ownedBy(owner.metadata.uid)) {
      if (child.kind === 'Pod') found.push(child as Immutable<Pod>);
      else queue.push(child);
    }
  }
  return found;
}

/** The ConfigMaps, Secrets and volumes that pods name: whether they exist. */
async function readNeeded(
  { resources }: GatherConfig,
  reader: ObjectReader,
  pods: readonly Immutable<Pod>[],
  namespace: string,
): Promise<void> {
  const needed = new Map<string, Pick<ObjectRef, 'kind' | 'name'>>();
  for (const pod of pods)
    for (const { kind, name } of neededBy(pod)) needed.set(`${kind}/${name}`, { kind, name });
  for (const claim of reader.objects.ofKind<KubeObject>('', 'PersistentVolumeClaim', namespace)) {
    const name = (claim as { readonly spec?: { readonly volumeName?: string } }).spec?.volumeName;
    if (name) needed.set(`PersistentVolume/${name}`, { kind: 'PersistentVolume', name });
  }
  await Promise.all(
    [...needed.values()].slice(0, MAX_LOOKUPS).map(async ({ kind, name }) => {
      const type = resources.find((each) => each.group === '' && each.kind === kind);
      if (type !== undefined)
        await reader.get(type, { namespace, name }, kind !== 'PersistentVolume');
    }),
  );
}

/** The namespaces of services that an API service or webhook configuration names. */
function referencedNamespaces(object: KubeObject): ReadonlySet<string> {
  const { spec, webhooks = [] } = object as {
    readonly spec?: { readonly service?: { readonly namespace?: string } };
    readonly webhooks?: readonly {
      readonly clientConfig?: { readonly service?: { readonly namespace?: string } };
    }[];
  };
  const named = [spec?.service, ...webhooks.map(({ clientConfig }) => clientConfig?.service)];
  return new Set(named.flatMap((service) => service?.namespace ?? []));
}
