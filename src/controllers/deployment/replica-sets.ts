// Finds the new ReplicaSet of a Deployment, and reads and writes the annotations for revisions and
// sizes. `kubectl rollout` reads the same names and formats.

import type { Deployment, ReplicaSet } from '#api/groups/apps/v1/index.ts';
import type { PodTemplateSpec } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { computeHash } from '#machinery/text/names.ts';
import { DNS1123_SUBDOMAIN_MAX_LENGTH } from '#machinery/validation/validation.ts';
import { newControllerRef } from '../controller-ref.ts';
import { byCreation, maxSurge, replicasOf } from './sizes.ts';

type ReadDeployment = Immutable<Deployment>;
type ReadReplicaSet = Immutable<ReplicaSet>;
type Annotations = Readonly<Record<string, string>>;
export type NewReplicaSet = New<ReplicaSet> & { readonly metadata: { readonly name: string } };

const POD_TEMPLATE_HASH = 'pod-template-hash';
export const REVISION = 'deployment.kubernetes.io/revision';
const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';
/** Annotations of the Deployment that are not copied to its ReplicaSets. */
const NOT_HANDED_ON: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
]);
const MAX_HISTORY_LENGTH = 2000;

/** The ReplicaSets of one Deployment. */
export interface Rollout {
  /** The ReplicaSet of the current template, if it exists: the oldest if there are several. */
  readonly fresh: ReadReplicaSet | undefined;
  /** All other ReplicaSets, oldest first. */
  readonly old: readonly ReadReplicaSet[];
}

export function rolloutOf({ spec }: ReadDeployment, sets: readonly ReadReplicaSet[]): Rollout {
  const sorted = sets.toSorted(byCreation);
  const fresh = sorted.find((set) => sameTemplate(spec.template, set.spec.template));
  return { fresh, old: sorted.filter((set) => set !== fresh) };
}

/** Compares templates without the label pod-template-hash. */
export function sameTemplate(
  a: Immutable<PodTemplateSpec>,
  b: Immutable<PodTemplateSpec> | undefined,
): boolean {
  return b !== undefined && semanticEqual(withoutHash(a), withoutHash(b));
}

function withoutHash(template: Immutable<PodTemplateSpec>): unknown {
  const { [POD_TEMPLATE_HASH]: _, ...labels } = template.metadata.labels ?? {};
  // A missing set of labels equals an empty one.
  return {
    ...template,
    metadata: {
      ...template.metadata,
      labels: Object.keys(labels).length === 0 ? undefined : labels,
    },
  };
}

/** The greatest revision: 64 bits. Users may write any revision into the annotation. */
const MAX_REVISION = 2n ** 63n - 1n;

/** Returns undefined for a text that is not a revision. */
function parseRevision(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,20}$/.test(text)) return undefined;
  const revision = BigInt(text.replace('+', ''));
  return revision <= MAX_REVISION && revision >= -MAX_REVISION - 1n ? revision : undefined;
}

/** Returns the revision; 0 if the object has none or an invalid one. */
export function revisionOf({ metadata }: ReadReplicaSet | ReadDeployment): bigint {
  return parseRevision(metadata.annotations?.[REVISION] ?? '') ?? 0n;
}

export function greatestRevision(sets: readonly ReadReplicaSet[]): bigint {
  return sets
    .map(revisionOf)
    .reduce((greatest, revision) => (revision > greatest ? revision : greatest), 0n);
}

/** Returns the number in an annotation of this controller; undefined if it is missing. */
export function annotatedSize({ metadata }: ReadReplicaSet, name: string): number | undefined {
  const text = metadata.annotations?.[name];
  return text !== undefined && /^-?\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Returns the annotations that record the Deployment's size when the ReplicaSet was sized. */
export function sizeAnnotations(deployment: ReadDeployment): Annotations {
  const replicas = replicasOf(deployment);
  return {
    [DESIRED_REPLICAS]: String(replicas),
    [MAX_REPLICAS]: String(replicas + maxSurge(deployment)),
  };
}

/**
 * Returns the annotations of a ReplicaSet with this revision. Annotations of other writers are
 * kept.
 */
export function annotationsOf(
  deployment: ReadDeployment,
  present: Annotations,
  revision: bigint,
): Annotations {
  const handedOn = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([name]) => !NOT_HANDED_ON.has(name),
  );
  const annotations: Record<string, string> = { ...present, ...Object.fromEntries(handedOn) };
  const before = present[REVISION] ?? '';
  const number = before === '' ? 0n : parseRevision(before);
  if (number === undefined || number >= revision) return annotations;
  annotations[REVISION] = String(revision);
  if (before !== '')
    annotations[REVISION_HISTORY] = historyWith(present[REVISION_HISTORY] ?? '', before);
  return annotations;
}

/** Returns the revision history 'OLD,…,NEW', without the oldest entries if it gets too long. */
function historyWith(history: string, revision: string): string {
  const revisions = history === '' ? [] : history.split(',');
  revisions.push(revision);
  while (revisions.length > 1 && revisions.join(',').length > MAX_HISTORY_LENGTH) revisions.shift();
  return revisions.join(',');
}

/** Returns a new ReplicaSet of the Deployment's current template, with this size. */
export function newReplicaSet(
  deployment: ReadDeployment,
  revision: bigint,
  replicas: number,
): NewReplicaSet {
  const { metadata, spec, status } = deployment;
  const hash = computeHash(spec.template, status.collisionCount);
  const labels = { ...spec.template.metadata.labels, [POD_TEMPLATE_HASH]: hash };
  return {
    metadata: {
      name: `${metadata.name.slice(0, DNS1123_SUBDOMAIN_MAX_LENGTH - hash.length - 1)}-${hash}`,
      namespace: metadata.namespace,
      labels,
      annotations: { ...annotationsOf(deployment, {}, revision), ...sizeAnnotations(deployment) },
      ownerReferences: [newControllerRef(metadata, { apiVersion: 'apps/v1', kind: 'Deployment' })],
    },
    spec: {
      replicas,
      ...(spec.minReadySeconds !== undefined && { minReadySeconds: spec.minReadySeconds }),
      selector: {
        ...spec.selector,
        matchLabels: { ...spec.selector.matchLabels, [POD_TEMPLATE_HASH]: hash },
      },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  };
}

/**
 * Returns the ReplicaSets beyond the history limit, the lowest revisions first. Only empty and
 * settled ReplicaSets are returned.
 */
export function beyondHistory(
  { spec }: ReadDeployment,
  old: readonly ReadReplicaSet[],
): readonly ReadReplicaSet[] {
  const limit = spec.revisionHistoryLimit;
  if (limit === undefined || limit >= 2 ** 31 - 1) return [];
  const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const tooMany = alive
    .toSorted((a, b) => compare(revisionOf(a), revisionOf(b)) || byCreation(a, b))
    .slice(0, Math.max(0, alive.length - limit));
  return tooMany.filter(
    (set) =>
      set.status.replicas === 0 &&
      replicasOf(set) === 0 &&
      (set.metadata.generation ?? 0) <= (set.status.observedGeneration ?? 0),
  );
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
