// The family of an object: its owners up to the top, the objects that it owns, and those that its
// fields name. Reading is bounded.

import type { Api } from '../server/api.ts';
import { isForbidden, isNotFound } from '../server/api-error.ts';
import type { Types } from '../server/discovery.ts';
import type { KubeObject } from '../lists/live-object.ts';
import { collectionPath, objectPath, type ResourceType, typeId } from '../server/resource-type.ts';
import type { ObjectMetadata } from '../lists/table.ts';

export interface Relative {
  readonly type: ResourceType | undefined;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** The object is gone, or may not be read. */
  readonly state: 'present' | 'missing' | 'forbidden';
  readonly children: readonly Relative[];
  readonly truncated?: boolean;
}

const METADATA = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const MAX_DEPTH = 6;
const LIST_LIMIT = 500;
/** More children of one object are counted, not shown. */
const MAX_CHILDREN = 60;

/** Reads the owners of an object, the direct one first. */
export async function ownersOf(
  api: Api,
  types: Types,
  metadata: ObjectMetadata,
  signal: AbortSignal,
): Promise<readonly Relative[]> {
  const owners: Relative[] = [];
  const seen = new Set([metadata.uid]);
  let current: ObjectMetadata | undefined = metadata;
  while (current !== undefined && owners.length < MAX_DEPTH) {
    const references: NonNullable<ObjectMetadata['ownerReferences']> =
      current.ownerReferences ?? [];
    const reference = references.find(({ controller }) => controller === true) ?? references[0];
    if (reference === undefined || seen.has(reference.uid)) break;
    seen.add(reference.uid);
    const type = types.byReference(reference.apiVersion, reference.kind);
    const namespace = type?.namespaced === false ? undefined : metadata.namespace;
    const found = type && (await readMetadata(api, type, namespace, reference.name, signal));
    owners.push({
      type,
      kind: reference.kind,
      namespace,
      name: reference.name,
      // Another object may have the owner's name by now.
      state: typeof found === 'object' && found.uid !== reference.uid ? 'missing' : stateOf(found),
      children: [],
    });
    current = typeof found === 'object' ? found : undefined;
  }
  return owners;
}

type Found = ObjectMetadata | 'missing' | 'forbidden' | undefined;

const stateOf = (found: Found): Relative['state'] =>
  typeof found === 'object' ? 'present' : (found ?? 'missing');

async function readMetadata(
  api: Api,
  type: ResourceType,
  namespace: string | undefined,
  name: string,
  signal: AbortSignal,
): Promise<Found> {
  try {
    const path = objectPath(type, namespace, name);
    return (await api.json<{ metadata: ObjectMetadata }>(path, { accept: METADATA, signal }))
      .metadata;
  } catch (error) {
    if (isNotFound(error)) return 'missing';
    if (isForbidden(error)) return 'forbidden';
    throw error;
  }
}

/** Kinds of the objects that built-in kinds own. */
const OWNED: Readonly<Record<string, readonly string[]>> = {
  'deployments.apps': ['replicasets.apps'],
  'replicasets.apps': ['pods'],
  replicationcontrollers: ['pods'],
  'statefulsets.apps': ['pods', 'persistentvolumeclaims', 'controllerrevisions.apps'],
  'daemonsets.apps': ['pods', 'controllerrevisions.apps'],
  'cronjobs.batch': ['jobs.batch'],
  'jobs.batch': ['pods'],
  services: ['endpointslices.discovery.k8s.io'],
  pods: ['persistentvolumeclaims', 'resourceclaims.resource.k8s.io'],
};

/** Kinds that owners of custom kinds mostly have, beside those of their own group. */
const COMMON = [
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'replicasets.apps',
  'jobs.batch',
  'pods',
  'services',
  'configmaps',
  'secrets',
  'serviceaccounts',
  'persistentvolumeclaims',
];

function ownedTypes(types: Types, type: ResourceType): readonly ResourceType[] {
  const known = OWNED[typeId(type)];
  if (known !== undefined) return known.flatMap((id) => types.byId(id) ?? []);
  if (!/\./.test(type.group) || type.group.endsWith('.k8s.io')) return [];
  return [
    ...COMMON.flatMap((id) => types.byId(id) ?? []),
    ...types.all.filter(
      ({ group, verbs, resource }) =>
        group === type.group && verbs.includes('list') && resource !== type.resource,
    ),
  ];
}

/** Reads what the object owns, and what that owns. */
export async function ownedBy(
  api: Api,
  types: Types,
  type: ResourceType,
  metadata: ObjectMetadata,
  signal: AbortSignal,
  depth = 0,
): Promise<{ readonly children: readonly Relative[]; readonly truncated: boolean }> {
  if (depth >= 3 || metadata.uid === undefined) return { children: [], truncated: false };
  const children: Relative[] = [];
  let truncated = false;
  for (const child of ownedTypes(types, type)) {
    const list = await listMetadata(api, child, metadata.namespace ?? '', signal);
    truncated ||= list.truncated;
    for (const item of list.items) {
      if (item.ownerReferences?.some(({ uid }) => uid === metadata.uid) !== true) continue;
      if (children.length >= MAX_CHILDREN) {
        truncated = true;
        break;
      }
      const below = await ownedBy(api, types, child, item, signal, depth + 1);
      children.push({
        type: child,
        kind: child.kind,
        namespace: item.namespace,
        name: item.name,
        state: 'present',
        children: below.children,
        truncated: below.truncated,
      });
    }
  }
  return { children, truncated };
}

async function listMetadata(
  api: Api,
  type: ResourceType,
  namespace: string,
  signal: AbortSignal,
): Promise<{ readonly items: readonly ObjectMetadata[]; readonly truncated: boolean }> {
  try {
    const path = `${collectionPath(type, namespace)}?limit=${LIST_LIMIT}`;
    const { items, metadata } = await api.json<{
      items?: readonly { metadata: ObjectMetadata }[];
      metadata?: { continue?: string };
    }>(path, { accept: METADATA_LIST, signal });
    return {
      items: (items ?? []).map((item) => item.metadata),
      truncated: (metadata?.continue ?? '') !== '',
    };
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return { items: [], truncated: true };
    throw error;
  }
}

export interface Mention {
  readonly role: string;
  readonly typeId: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Returns the objects that fields of a built-in kind name: node, volumes, service account … */
export function mentionsOf(type: ResourceType, { metadata, spec }: KubeObject): readonly Mention[] {
  const { namespace } = metadata;
  const mentions: Mention[] = [];
  const add = (role: string, id: string, name: unknown, place = namespace): void => {
    if (typeof name !== 'string' || name === '') return;
    if (mentions.some((each) => each.typeId === id && each.name === name)) return;
    mentions.push({ role, typeId: id, namespace: place, name });
  };
  const podSpec = (typeId(type) === 'pods' ? spec : podTemplateSpec(spec)) ?? {};
  add('node', 'nodes', podSpec['nodeName'], undefined);
  add('service account', 'serviceaccounts', podSpec['serviceAccountName']);
  add(
    'priority class',
    'priorityclasses.scheduling.k8s.io',
    podSpec['priorityClassName'],
    undefined,
  );
  for (const volume of recordsOf(podSpec['volumes'])) {
    add('volume', 'configmaps', recordOf(volume['configMap'])['name']);
    add('volume', 'secrets', recordOf(volume['secret'])['secretName']);
    add('volume', 'persistentvolumeclaims', recordOf(volume['persistentVolumeClaim'])['claimName']);
  }
  for (const container of recordsOf(podSpec['containers'])) {
    for (const source of recordsOf(container['envFrom'])) {
      add('environment', 'configmaps', recordOf(source['configMapRef'])['name']);
      add('environment', 'secrets', recordOf(source['secretRef'])['name']);
    }
    for (const { valueFrom } of recordsOf(container['env'])) {
      add('environment', 'configmaps', recordOf(recordOf(valueFrom)['configMapKeyRef'])['name']);
      add('environment', 'secrets', recordOf(recordOf(valueFrom)['secretKeyRef'])['name']);
    }
  }
  if (typeId(type) === 'persistentvolumeclaims') {
    add('volume', 'persistentvolumes', spec?.['volumeName'], undefined);
    add('class', 'storageclasses.storage.k8s.io', spec?.['storageClassName'], undefined);
  }
  if (typeId(type) === 'persistentvolumes') {
    const claim = recordOf(spec?.['claimRef']);
    add('claim', 'persistentvolumeclaims', claim['name'], String(claim['namespace'] ?? ''));
  }
  if (typeId(type) === 'ingresses.networking.k8s.io')
    for (const rule of recordsOf(spec?.['rules']))
      for (const path of recordsOf(recordOf(rule['http'])['paths']))
        add('backend', 'services', recordOf(recordOf(path['backend'])['service'])['name']);
  if (typeId(type) === 'horizontalpodautoscalers.autoscaling') {
    const target = recordOf(spec?.['scaleTargetRef']);
    if (target['kind'] === 'Deployment') add('target', 'deployments.apps', target['name']);
    if (target['kind'] === 'StatefulSet') add('target', 'statefulsets.apps', target['name']);
  }
  return mentions;
}

type Json = Readonly<Record<string, unknown>>;

const recordOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

const recordsOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.map(recordOf) : [];

const podTemplateSpec = (spec: Json | undefined): Json | undefined => {
  const template = recordOf(spec?.['template'])['spec'];
  const jobTemplate = recordOf(recordOf(recordOf(spec?.['jobTemplate'])['spec'])['template'])[
    'spec'
  ];
  return recordOf(template ?? jobTemplate);
};

/** Returns the selector of a workload or a service as a query; undefined if it selects nothing. */
export function selectorOf({ kind, spec }: KubeObject): string | undefined {
  const selector = recordOf(spec?.['selector']);
  const isPlain = kind === 'Service' || kind === 'ReplicationController';
  const labels = Object.entries(recordOf(isPlain ? selector : selector['matchLabels'])).map(
    ([key, value]) => `${key}=${String(value)}`,
  );
  const expressions = isPlain
    ? []
    : recordsOf(selector['matchExpressions']).map(({ key, operator, values }) => {
        const list = Array.isArray(values) ? values.join(',') : '';
        switch (operator) {
          case 'In':
            return `${String(key)} in (${list})`;
          case 'NotIn':
            return `${String(key)} notin (${list})`;
          case 'Exists':
            return String(key);
          default:
            return `!${String(key)}`;
        }
      });
  const all = [...labels, ...expressions];
  return all.length === 0 ? undefined : all.join(',');
}
