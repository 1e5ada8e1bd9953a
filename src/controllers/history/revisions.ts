// ControllerRevisions as values: the history of the pod template of a StatefulSet or DaemonSet.

import type { ControllerRevision } from '#api/groups/apps/v1/index.ts';
import type { PodTemplateSpec } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { computeHash } from '#machinery/text/names.ts';
import type { Claimant } from '../claim.ts';
import { newControllerRef } from '../controller-ref.ts';

export type ReadRevision = Immutable<ControllerRevision>;
export type RevisionData = Readonly<Record<string, unknown>>;
export type NewRevision = New<ControllerRevision> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
};

/** The pod label with the hash of its revision. */
export const REVISION_HASH = 'controller-revision-hash';
const HASH = 'controller.kubernetes.io/hash';
/** The longest name prefix that leaves room for any hash. */
const MAX_PREFIX_LENGTH = 223;

/**
 * Returns the data of a revision: a patch that restores the template, as `kubectl rollout undo`
 * applies it. Keys are sorted, because clients that search the revision of a template compare
 * bytes.
 */
export function templateData(template: Immutable<PodTemplateSpec>): RevisionData {
  return sorted({ spec: { template: { ...template, $patch: 'replace' } } });
}

function sorted<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted) as T;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item as unknown)])) as T;
}

/** Returns the template in data from `templateData`. Throws if there is none. */
export function templateOf({ metadata, data }: ReadRevision): Immutable<PodTemplateSpec> {
  const { template } = (data?.spec ?? {}) as {
    template?: Immutable<PodTemplateSpec> & { $patch?: string };
  };
  if (template === undefined)
    throw new Error(`ControllerRevision ${metadata.name} keeps no template`);
  const { $patch: _, ...kept } = template;
  return kept;
}

export interface RevisionOf {
  readonly owner: Claimant;
  /** Labels by which the owner selects its revisions. */
  readonly labels: Readonly<Record<string, string>>;
  readonly data: RevisionData;
  readonly revision: number;
  /** Changes the name for the same data. */
  readonly collisionCount: number | undefined;
  /** The label that gets the hash. Default: 'controller.kubernetes.io/hash'. */
  readonly hashLabel?: string;
}

export function newRevision({
  owner,
  labels,
  data,
  revision,
  collisionCount,
  hashLabel = HASH,
}: RevisionOf): NewRevision {
  const { name, namespace = '', annotations } = owner.metadata;
  const hash = computeHash(data, collisionCount === 0 ? undefined : collisionCount);
  return {
    metadata: {
      name: `${name.slice(0, MAX_PREFIX_LENGTH)}-${hash}`,
      namespace,
      labels: { ...labels, [hashLabel]: hash },
      ...(annotations !== undefined && { annotations }),
      ownerReferences: [newControllerRef(owner.metadata, owner)],
    },
    data,
    revision,
  };
}

/** Orders revisions, oldest first. */
export function byRevision(a: ReadRevision, b: ReadRevision): number {
  if (a.revision !== b.revision) return a.revision - b.revision;
  const [first, second] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (first !== second) return first < second ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0;
}

export function sameData(a: { readonly data?: unknown }, b: { readonly data?: unknown }): boolean {
  return semanticEqual(a.data, b.data);
}

export type NextRevision =
  | { readonly kind: 'present'; readonly revision: ReadRevision }
  /**
   * The data equals an earlier revision, which becomes the latest one. `number`: its new revision
   * number.
   */
  | { readonly kind: 'again'; readonly revision: ReadRevision; readonly number: number }
  | { readonly kind: 'new'; readonly number: number };

/** Returns how the history changes with this data. `revisions`: oldest first. */
export function nextRevision(revisions: readonly ReadRevision[], data: RevisionData): NextRevision {
  const latest = revisions.at(-1);
  const number = (latest?.revision ?? 0) + 1;
  const equal = revisions.findLast((revision) => sameData(revision, { data }));
  if (equal === undefined) return { kind: 'new', number };
  return equal === latest
    ? { kind: 'present', revision: equal }
    : { kind: 'again', revision: equal, number };
}

/**
 * Returns the revisions beyond the limit that no pod uses. `revisions`: oldest first. A negative
 * limit keeps all.
 */
export function beyondLimit(
  revisions: readonly ReadRevision[],
  live: ReadonlySet<string>,
  limit: number,
): readonly ReadRevision[] {
  const past = revisions.filter(({ metadata }) => !live.has(metadata.name));
  return limit < 0 ? [] : past.slice(0, Math.max(0, past.length - limit));
}
