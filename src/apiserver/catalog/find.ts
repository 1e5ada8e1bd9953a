// Objects for other parts of the server (admission, proxies), read through the same registry as everybody's.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen } from '#machinery/awaitable.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import * as fields from '#machinery/selectors/fields.ts';
import type { Kind } from './kind.ts';
import type { Rest } from '../registry/rest.ts';
import { everything, Selection } from '../registry/selection.ts';
import type { RequestContext } from '../registry/strategy.ts';

/** The object; undefined if there is none, or no such resource. At once where the storage has it at hand. */
export type Find = <T extends KubeObject>(
  group: string,
  resource: string,
  namespace: string,
  name: string,
) => Awaitable<T | undefined>;

/** All objects of a resource in a namespace ('': in all); none if there is no such resource. */
export type FindAll = <T extends KubeObject>(group: string, resource: string, namespace: string) => Awaitable<readonly T[]>;

/**
 * Changes the status of an object, as often as it takes until nobody else has written in between. Nothing happens if it is gone,
 * or if `change` answers what it was given.
 */
export type UpdateStatus = <T extends KubeObject>(
  group: string,
  resource: string,
  namespace: string,
  name: string,
  change: (current: T) => T,
) => Promise<void>;

const SERVER = { name: 'system:apiserver', groups: ['system:masters'] } as const;
const NEVER = new AbortController().signal;

export function findIn(resources: readonly Kind[]): Find {
  const rests = restsOf(resources);
  const get = async (rest: Rest, namespace: string, name: string): Promise<KubeObject | undefined> => {
    if (rest.get === undefined) return undefined;
    const context: RequestContext = { user: SERVER, namespace, signal: NEVER, warnings: [] };
    try {
      return (await rest.get(context, name, { resourceVersion: '' })).object() as KubeObject;
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  };
  return <T extends KubeObject>(group: string, resource: string, namespace: string, name: string) => {
    const rest = rests.get(resource)?.get(group);
    if (rest === undefined) return undefined;
    const found = rest.find === undefined ? get(rest, namespace, name) : rest.find(namespace, name);
    return found as Awaitable<T | undefined>;
  };
}

export function findAllIn(resources: readonly Kind[]): FindAll {
  const rests = restsOf(resources);
  return <T extends KubeObject>(group: string, resource: string, namespace: string) => {
    const rest = rests.get(resource)?.get(group);
    if (rest?.findAll !== undefined) return rest.findAll(namespace) as Awaitable<readonly T[]>;
    if (rest?.list === undefined) return [];
    const context: RequestContext = { user: SERVER, namespace, signal: NEVER, warnings: [] };
    const options = { selection: everything, limit: 0, continue: '', resourceVersion: '', resourceVersionMatch: '' } as const;
    return andThen(rest.list(context, options), ({ items }) => items.map((item) => item.object() as T));
  };
}

export function updateStatusIn(resources: readonly Kind[]): UpdateStatus {
  return async <T extends KubeObject>(
    group: string,
    resource: string,
    namespace: string,
    name: string,
    change: (current: T) => T,
  ) => {
    const served = resources.find(({ type }) => type.group === group && type.resource === resource);
    const status = served?.subresources?.find((subresource) => subresource.name === 'status');
    if (status?.rest.update === undefined) return;
    const context: RequestContext = { user: SERVER, namespace, signal: NEVER, warnings: [] };
    const apply = (current: KubeObject | undefined): KubeObject => {
      if (current === undefined) throw apierrors.notFound({ group, resource }, name);
      return change(current as T);
    };
    try {
      await status.rest.update(context, name, { apply }, { dryRun: false, fieldManager: '' });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  };
}

/** By resource, then by group. Of several versions the first is the stored one. */
function restsOf(resources: readonly Kind[]): ReadonlyMap<string, ReadonlyMap<string, Rest>> {
  const rests = new Map<string, Map<string, Rest>>();
  for (const { type, rest } of resources) {
    const byGroup = rests.get(type.resource) ?? new Map<string, Rest>();
    rests.set(type.resource, byGroup);
    if (!byGroup.has(type.group)) byGroup.set(type.group, rest);
  }
  return rests;
}

/** Waits for an object: true as soon as it is there, false when the time is over. */
export function appearsIn(resources: readonly Kind[], clock: Clock) {
  return async (group: string, resource: string, namespace: string, name: string, timeoutMs: number): Promise<boolean> => {
    const served = resources.find(({ type }) => type.group === group && type.resource === resource);
    if (served?.rest.watch === undefined) return false;
    const context: RequestContext = { user: SERVER, namespace, signal: NEVER, warnings: [] };
    const selection = new Selection({ fields: fields.oneTermEqualSelector('metadata.name', name) });
    const events = await served.rest.watch(context, {
      selection,
      resourceVersion: '',
      allowBookmarks: false,
      sendInitialEvents: undefined,
    });
    const timer = clock.setTimer(timeoutMs, () => events.stop());
    try {
      for await (const event of events) if (event.type === 'ADDED' || event.type === 'MODIFIED') return true;
      return false;
    } finally {
      timer.cancel();
    }
  };
}
