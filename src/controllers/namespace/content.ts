// Deletes the content of a namespace, resource by resource, and counts what remains.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client, ResourceClient } from '#client/client.ts';
import { parseTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type DiscoveredResource, hasVerbs } from '../discovery.ts';
import { isPodTerminal } from '../pod-state.ts';

export interface ContentResult {
  readonly failures: readonly string[];
  /** 'resource.group' → the number of remaining objects. */
  readonly remaining: ReadonlyMap<string, number>;
  /** Finalizer → the number of objects that have it. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** The estimated seconds until more objects are gone; 0 if none remain. */
  readonly estimateSeconds: number;
}

interface Left {
  readonly id: string;
  readonly items: readonly KubeObject[];
  readonly estimateSeconds: number;
  readonly failure?: string;
}

/** The estimated time for a finalizer's work. */
const FINALIZER_ESTIMATE_SECONDS = 15;

/**
 * Deletes all objects of these resources in the namespace. Pods come first, and other objects are
 * kept as long as pods exist: pods may need them (secrets, network policies) until they end.
 * `nowMs`: since the epoch.
 */
export async function deleteContent(
  client: Client,
  resources: readonly DiscoveredResource[],
  namespace: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<ContentResult> {
  const isPods = (resource: DiscoveredResource): boolean =>
    resource.group === '' && resource.resource === 'pods';
  const empty = (resource: DiscoveredResource): Promise<Left> =>
    deleteAll(client, resource, namespace, nowMs, signal);
  const pods = await Promise.all(resources.filter(isPods).map(empty));
  const podsLeft = pods.some(({ items, failure }) => items.length > 0 || failure !== undefined);
  return sumUp(
    podsLeft
      ? pods
      : await Promise.all(resources.filter((resource) => !isPods(resource)).map(empty)),
  );
}

async function deleteAll(
  client: Client,
  resource: DiscoveredResource,
  namespace: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<Left> {
  const id = `${resource.resource}.${resource.group}`;
  const scoped = client.resource(resource).namespace(namespace);
  let items: readonly KubeObject[] = [];
  try {
    await askForDeletion(scoped, resource, signal);
    if (hasVerbs(resource, 'list')) items = (await scoped.list({ signal })).items;
  } catch (error) {
    if (signal.aborted) throw error;
    // The resource is gone since discovery, and its objects with it.
    if (apierrors.isNotFound(error) || apierrors.isMethodNotSupported(error))
      return { id, items: [], estimateSeconds: 0 };
    return { id, items: [], estimateSeconds: 0, failure: errorMessage(error) };
  }
  if (items.length === 0) return { id, items, estimateSeconds: 0 };
  if (id === 'pods.')
    return { id, items, estimateSeconds: podEstimate(items as readonly Immutable<Pod>[], nowMs) };
  if (items.some(({ metadata }) => (metadata.finalizers ?? []).length > 0)) {
    return { id, items, estimateSeconds: FINALIZER_ESTIMATE_SECONDS };
  }
  // The remaining objects have no finalizers, so they were created after the deletion.
  const failure =
    `unexpected items still remain in namespace: ${namespace} for gvr: ` +
    `${resource.group}/${resource.version}, Resource=${resource.resource}`;
  return { id, items, estimateSeconds: 0, failure };
}

async function askForDeletion(
  scoped: ResourceClient<KubeObject>,
  resource: DiscoveredResource,
  signal: AbortSignal,
): Promise<void> {
  const propagationPolicy = 'Background';
  if (hasVerbs(resource, 'deletecollection')) {
    await scoped.deleteCollection({ propagationPolicy, signal });
    return;
  }
  if (!hasVerbs(resource, 'list', 'delete')) return;
  for (const { metadata } of (await scoped.list({ signal })).items) {
    try {
      await scoped.delete(metadata.name, {
        preconditions: { uid: metadata.uid },
        propagationPolicy,
        signal,
      });
    } catch (error) {
      // The object is gone, or another object has its name: the next reconcile lists it.
      if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) throw error;
    }
  }
}

/** Returns the remainder of the longest grace period in seconds; at least one. */
function podEstimate(items: readonly Immutable<Pod>[], nowMs: number): number {
  let estimate = 1;
  for (const pod of items) {
    if (isPodTerminal(pod)) continue;
    const grace =
      pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
    // The deletionTimestamp is the end of the grace period.
    const end = parseTime(pod.metadata.deletionTimestamp);
    estimate = Math.max(
      estimate,
      end === undefined ? grace : Math.min(grace, Math.ceil((end - nowMs) / 1000)),
    );
  }
  return estimate;
}

function sumUp(parts: readonly Left[]): ContentResult {
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  for (const { id, items } of parts) {
    if (items.length > 0) remaining.set(id, items.length);
    for (const { metadata } of items) {
      for (const finalizer of metadata.finalizers ?? [])
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
    }
  }
  return {
    failures: parts.flatMap(({ failure }) => (failure === undefined ? [] : [failure])),
    remaining,
    finalizers,
    estimateSeconds: parts.reduce(
      (most, { estimateSeconds }) => Math.max(most, estimateSeconds),
      0,
    ),
  };
}
