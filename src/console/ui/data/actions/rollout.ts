// The revisions of a workload, and the changes that `kubectl rollout` makes, as patches.

import type { KubeObject } from '../lists/live-object.ts';
import { type ResourceType, typeId } from '../server/resource-type.ts';

export interface Revision {
  readonly number: number;
  /** The ReplicaSet or ControllerRevision. */
  readonly name: string;
  readonly created: string | undefined;
  readonly images: readonly string[];
  readonly cause: string;
  /** Pods of the revision; undefined where its object does not count them. */
  readonly replicas?: number;
  readonly current: boolean;
  readonly source: KubeObject;
}

export interface Patch {
  readonly contentType: string;
  readonly body: unknown;
}

const REVISION = 'deployment.kubernetes.io/revision';
const CAUSE = 'kubernetes.io/change-cause';
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';
const TEMPLATE_HASH = 'pod-template-hash';
/** Annotations of a ReplicaSet that are not those of its Deployment. */
const OWN_ANNOTATIONS: ReadonlySet<string> = new Set([
  REVISION,
  'deployment.kubernetes.io/revision-history',
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
]);

const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';

type Json = Readonly<Record<string, unknown>>;

/** Returns the id of the kind that holds the revisions of a workload. */
export const revisionTypeId = (type: ResourceType): string =>
  typeId(type) === 'deployments.apps' ? 'replicasets.apps' : 'controllerrevisions.apps';

/** Returns the workload's revisions among objects of that kind, the latest first. */
export function revisionsOf(
  workload: KubeObject,
  candidates: readonly KubeObject[],
): readonly Revision[] {
  const revisions = candidates
    .filter(({ metadata }) =>
      metadata.ownerReferences?.some(
        ({ uid, controller }) => uid === workload.metadata.uid && controller === true,
      ),
    )
    .map(toRevision)
    .sort((a, b) => b.number - a.number);
  const current =
    workload.kind === 'Deployment'
      ? Number(workload.metadata.annotations?.[REVISION] ?? revisions[0]?.number)
      : currentRevision(workload, revisions);
  return revisions.map((each) => ({ ...each, current: each.number === current }));
}

function currentRevision({ status }: KubeObject, revisions: readonly Revision[]): number {
  const name = status?.['updateRevision'];
  return (revisions.find((each) => each.name === name) ?? revisions[0])?.number ?? 0;
}

function toRevision(source: KubeObject): Revision {
  const { metadata, spec, status } = source;
  const isReplicaSet = spec !== undefined;
  const data = source['data'] as { spec?: { template?: { spec?: Json } } } | undefined;
  const podSpec = isReplicaSet
    ? (spec['template'] as { spec?: Json } | undefined)?.spec
    : data?.spec?.template?.spec;
  const containers = (podSpec?.['containers'] ?? []) as readonly { image?: string }[];
  return {
    number: isReplicaSet
      ? Number(metadata.annotations?.[REVISION] ?? 0)
      : Number(source['revision'] ?? 0),
    name: metadata.name,
    created: metadata.creationTimestamp,
    images: containers.flatMap(({ image }) => image ?? []),
    cause: metadata.annotations?.[CAUSE] ?? '',
    ...(isReplicaSet && { replicas: Number(status?.['replicas'] ?? 0) }),
    current: false,
    source,
  };
}

/** Returns the patch that makes a revision the current one again. */
export function undoPatch(workload: KubeObject, { source }: Revision): Patch {
  if (workload.kind !== 'Deployment') return { contentType: STRATEGIC, body: source['data'] };
  const template = structuredClone(source.spec?.['template']) as {
    metadata?: { labels?: Record<string, string> };
  };
  delete template.metadata?.labels?.[TEMPLATE_HASH];
  const own = Object.entries(workload.metadata.annotations ?? {}).filter(([key]) =>
    OWN_ANNOTATIONS.has(key),
  );
  const restored = Object.entries(source.metadata.annotations ?? {}).filter(
    ([key]) => !OWN_ANNOTATIONS.has(key),
  );
  return {
    contentType: JSON_PATCH,
    body: [
      // Another change in the meantime must not be lost. The generation counts changes of the spec
      // and the annotations; the resource version also changes with every step of a rollout.
      { op: 'test', path: '/metadata/uid', value: workload.metadata.uid },
      { op: 'test', path: '/metadata/generation', value: workload.metadata.generation },
      { op: 'replace', path: '/spec/template', value: template },
      {
        op: 'add',
        path: '/metadata/annotations',
        value: Object.fromEntries([...own, ...restored]),
      },
    ],
  };
}

export const pausePatch = (paused: boolean): Patch => ({
  contentType: STRATEGIC,
  body: { spec: { paused: paused ? true : null } },
});

export const restartPatch = (time: string): Patch => ({
  contentType: STRATEGIC,
  body: { spec: { template: { metadata: { annotations: { [RESTARTED_AT]: time } } } } },
});

/** Returns the patch of new images, by container. */
export const imagePatch = (images: Readonly<Record<string, string>>): Patch => ({
  contentType: STRATEGIC,
  body: {
    spec: {
      template: {
        spec: {
          containers: Object.entries(images).map(([name, image]) => ({ name, image })),
        },
      },
    },
  },
});

export const scalePatch = (replicas: number): Patch => ({
  contentType: MERGE,
  body: { spec: { replicas } },
});

export const cordonPatch = (cordoned: boolean): Patch => ({
  contentType: STRATEGIC,
  body: { spec: { unschedulable: cordoned ? true : null } },
});

export const suspendPatch = (suspended: boolean): Patch => ({
  contentType: MERGE,
  body: { spec: { suspend: suspended } },
});
