// The server's client of its own registry, for admission, authenticators and proxies. It skips
// authorization and admission, and returns objects synchronously if the storage has them in memory.
// Requests that should pass the whole handler chain use the loopback client instead.
//
// Each call uses the catalog of that moment. Of a resource with several versions it uses the stored
// one, which needs no conversion.

import { FieldManager } from '#api/machinery/managed-fields/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import * as fields from '#machinery/selectors/fields.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { Rest } from '../registry/rest.ts';
import { everything, Selection } from '../registry/selection.ts';
import type { RequestContext } from '../registry/strategy.ts';
import type { EncodedWatchEvent } from '../request.ts';
import { API_SERVER_USER } from '../server-user.ts';
import type { Catalog } from './catalog.ts';
import { subresourceCodec } from './codec.ts';
import type { Kind, Subresource } from './kind.ts';

/** Returns the object; undefined if the object or the resource does not exist. */
export type Find = <T extends KubeObject>(
  group: string,
  resource: string,
  namespace: string,
  name: string,
) => Awaitable<T | undefined>;

/**
 * Returns all objects of a resource in a namespace ('': in all); none if the resource does not
 * exist.
 */
export type FindAll = <T extends KubeObject>(
  group: string,
  resource: string,
  namespace: string,
) => Awaitable<readonly T[]>;

/**
 * Updates the status of an object; the server owns what it changes. After a conflict with another
 * writer it calls `change` again. Does nothing if the object or the resource does not exist, or if
 * `change` returns its argument. `dryRun`: nothing is stored. Default: false.
 */
export type UpdateStatus = <T extends KubeObject>(
  group: string,
  resource: string,
  namespace: string,
  name: string,
  change: (current: T) => T,
  dryRun?: boolean,
) => Promise<void>;

/**
 * Waits for an object. Resolves true as soon as it exists; false after the timeout, when a virtual
 * clock is at rest, or if the resource does not exist.
 */
export type Appears = (
  group: string,
  resource: string,
  namespace: string,
  name: string,
  timeoutMs: number,
) => Promise<boolean>;

/** A list that is read for its revision. */
const FIRST = { limit: 1, continue: '', resourceVersion: '', resourceVersionMatch: '' } as const;
const NEVER = new AbortController().signal;
/** The owner of what the server itself writes, as upstream. */
const FIELD_MANAGER = 'kube-apiserver';

/** Returns the request context of a call by the server itself. */
export function internalContext(namespace: string): RequestContext {
  return { user: API_SERVER_USER, namespace, signal: NEVER, warnings: [] };
}

/** Gets one object. Returns undefined if it does not exist. */
export function findOne(
  rest: Rest,
  namespace: string,
  name: string,
  resourceVersion = '',
): Awaitable<KubeObject | undefined> {
  if (rest.find !== undefined) return rest.find(namespace, name);
  return rest.get === undefined
    ? undefined
    : getOrUndefined(rest.get.bind(rest), namespace, name, resourceVersion);
}

async function getOrUndefined(
  get: NonNullable<Rest['get']>,
  namespace: string,
  name: string,
  resourceVersion: string,
): Promise<KubeObject | undefined> {
  try {
    return (
      await get(internalContext(namespace), name, { resourceVersion })
    ).object() as KubeObject;
  } catch (error) {
    if (apierrors.isNotFound(error)) return undefined;
    throw error;
  }
}

/** Gets all objects of a namespace ('': of all). */
export function findEvery(
  rest: Rest,
  namespace: string,
  resourceVersion = '',
): Awaitable<readonly KubeObject[]> {
  if (rest.findAll !== undefined) return rest.findAll(namespace);
  if (rest.list === undefined) return [];
  const options = {
    selection: everything,
    limit: 0,
    continue: '',
    resourceVersion,
    resourceVersionMatch: '',
  } as const;
  return andThen(rest.list(internalContext(namespace), options), ({ items }) =>
    items.map((item) => item.object() as KubeObject),
  );
}

export class InternalClient {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #scheme: Scheme;
  /** The managers of the server's own fields, by the status of a kind. */
  readonly #owners = new WeakMap<Subresource, FieldManager>();

  constructor(config: {
    readonly catalog: Catalog;
    readonly clock: Clock;
    readonly scheme: Scheme;
  }) {
    this.#catalog = config.catalog;
    this.#clock = config.clock;
    this.#scheme = config.scheme;
  }

  readonly find: Find = <T extends KubeObject>(
    group: string,
    resource: string,
    namespace: string,
    name: string,
  ) => {
    const rest = this.#restOf(group, resource);
    return rest === undefined
      ? undefined
      : (findOne(rest, namespace, name) as Awaitable<T | undefined>);
  };

  readonly findAll: FindAll = <T extends KubeObject>(
    group: string,
    resource: string,
    namespace: string,
  ) => {
    const rest = this.#restOf(group, resource);
    return rest === undefined ? [] : (findEvery(rest, namespace) as Awaitable<readonly T[]>);
  };

  readonly updateStatus: UpdateStatus = async <T extends KubeObject>(
    group: string,
    resource: string,
    namespace: string,
    name: string,
    change: (current: T) => T,
    dryRun = false,
  ) => {
    const kind = this.#catalog.snapshot().stored(group, resource);
    const status = kind?.subresources?.find((subresource) => subresource.name === 'status');
    if (kind === undefined || status === undefined) return;
    const owner = this.#ownerOf(kind, status);
    const apply = (current: KubeObject | undefined): Awaitable<KubeObject> => {
      if (current === undefined) throw apierrors.notFound({ group, resource }, name);
      const changed = change(current as T);
      return changed === current ? current : owner.update(current, changed, FIELD_MANAGER);
    };
    try {
      await status.rest.update?.(
        internalContext(namespace),
        name,
        { apply },
        { dryRun, fieldManager: FIELD_MANAGER },
      );
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
  };

  readonly appears: Appears = async (group, resource, namespace, name, timeoutMs) => {
    const selection = new Selection({ fields: fields.oneTermEqualSelector('metadata.name', name) });
    const events = await watchAll(this.#restOf(group, resource), namespace, {
      selection,
      sendInitialEvents: undefined,
    });
    if (events === undefined) return false;
    const timer = this.#clock.setTimer(timeoutMs, () => events.stop());
    // On a virtual clock the client may wait for this request, and would never move the time.
    void this.#clock.atRest?.().then(() => events.stop());
    try {
      for await (const event of events)
        if (event.type === 'ADDED' || event.type === 'MODIFIED') return true;
      return false;
    } finally {
      timer.cancel();
    }
  };

  #ownerOf(kind: Kind, status: Subresource): FieldManager {
    let owner = this.#owners.get(status);
    if (owner === undefined) {
      owner = new FieldManager({
        codec: subresourceCodec(this.#scheme, kind, status),
        subresource: status.name,
        now: () => this.#clock.now(),
      });
      this.#owners.set(status, owner);
    }
    return owner;
  }

  #restOf(group: string, resource: string): Rest | undefined {
    return this.#catalog.snapshot().stored(group, resource)?.rest;
  }
}

/**
 * Watches from the current state on. With `sendInitialEvents` a bookmark follows the current state.
 */
export async function watchAll(
  rest: Rest | undefined,
  namespace: string,
  options: { readonly selection: Selection; readonly sendInitialEvents: true | undefined },
): Promise<WatchStream<EncodedWatchEvent> | undefined> {
  return rest?.watch?.(internalContext(namespace), {
    ...options,
    resourceVersion: '',
    allowBookmarks: options.sendInitialEvents === true,
    latestBeats: true,
  });
}

/** Watches from now on, without the objects that exist. The resource must serve lists and watches. */
export async function watchChanges(
  rest: Rest,
  namespace: string,
  selection: Selection,
): Promise<WatchStream<EncodedWatchEvent>> {
  const context = internalContext(namespace);
  const { resourceVersion } = await rest.list!(context, { ...FIRST, selection });
  return await rest.watch!(context, {
    selection,
    resourceVersion,
    sendInitialEvents: undefined,
    allowBookmarks: false,
    latestBeats: true,
  });
}
