// Which ReplicaSet of a Deployment is the new one, and what its annotations tell of revisions and
// sizes. Names and formats are those that kubectl rollout reads.

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
/** Annotations of the Deployment that are its own. */
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
  /** The one of the present template, if there is one: the oldest, should there be several. */
  readonly fresh: ReadReplicaSet | undefined;
  /** All others, oldest first. */
  readonly old: readonly ReadReplicaSet[];
}

export function rolloutOf({ spec }: ReadDeployment, sets: readonly ReadReplicaSet[]): Rollout {
  const sorted = sets.toSorted(byCreation);
  const fresh = sorted.find((set) => sameTemplate(spec.template, set.spec.template));
  return { fresh, old: sorted.filter((set) => set !== fresh) };
}

/** But for the label by which ReplicaSets tell their pods apart. */
export function sameTemplate(
  a: Immutable<PodTemplateSpec>,
  b: Immutable<PodTemplateSpec> | undefined,
): boolean {
  return b !== undefined && semanticEqual(withoutHash(a), withoutHash(b));
}

function withoutHash(template: Immutable<PodTemplateSpec>): unknown {
  const { [POD_TEMPLATE_HASH]: _, ...labels } = template.metadata.labels ?? {};
  // No labels and an empty set of them are the same.
  return {
    ...template,
    metadata: {
      ...template.metadata,
      labels: Object.keys(labels).length === 0 ? undefined : labels,
    },
  };
}

/** The greatest that 64 bits hold. People write such revisions, to see what happens. */
const MAX_REVISION = 2n ** 63n - 1n;

/** undefined for what is no revision. */
function parseRevision(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,20}$/.test(text)) return undefined;
  const revision = BigInt(text.replace('+', ''));
  return revision <= MAX_REVISION && revision >= -MAX_REVISION - 1n ? revision : undefined;
}

/** 0 for what has no revision, or none that can be read. */
export function revisionOf({ metadata }: ReadReplicaSet | ReadDeployment): bigint {
  return parseRevision(metadata.annotations?.[REVISION] ?? '') ?? 0n;
}

export function greatestRevision(sets: readonly ReadReplicaSet[]): bigint {
  return sets
    .map(revisionOf)
    .reduce((greatest, revision) => (revision > greatest ? revision : greatest), 0n);
}

/** A number that an annotation of ours tells; undefined if it is not there. */
export function annotatedSize({ metadata }: ReadReplicaSet, name: string): number | undefined {
  const text = metadata.annotations?.[name];
  return text !== undefined && /^-?\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** The annotations that tell what the Deployment's size was when the ReplicaSet was sized. */
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

/** 'OLD,…,NEW', without the oldest if it gets too long. */
function historyWith(history: string, revision: string): string {
  const revisions = history === '' ? [] : history.split(',');
  revisions.push(revision);
  while (revisions.length > 1 && revisions.join(',').length > MAX_HISTORY_LENGTH) revisions.shift();
  return revisions.join(',');
}

/** The ReplicaSet of the Deployment's present template, of the size that is given. */
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
 * The ReplicaSets beyond the history that is kept: those of the lowest revisions, and only what is
 * empty and settled.
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
