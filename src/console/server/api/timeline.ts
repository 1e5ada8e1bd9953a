// GET /console/api/timeline?resource=pods&resource=deployments.apps&namespace=NS&from=RV&to=RV: the
// changes of objects between two resourceVersions, as far as the store still has them. They come
// from watches of the signed-in user, so the user needs permission to watch the resources.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { findResource, servedResources, type ServedResource } from '#client/explain/index.ts';
import type { WatchEvent } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { WatchStream } from '#machinery/watch.ts';
import {
  type ConsoleRequest,
  type ConsoleResponse,
  expectMethod,
  json,
  type User,
  USER_AGENT,
} from '../http.ts';

const MAX_RESOURCES = 10;
const MAX_EVENTS = 5000;
/** Timelines at a time. */
const MAX_CONCURRENT = 4;
/** The revisions before `to` that are read if `from` is absent. */
const DEFAULT_SPAN = 1000n;
/** The history of a watch is there at once: it has ended when nothing comes for this time, in ms. */
const QUIET_MS = 250;

interface Change {
  readonly revision: string;
  readonly type: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  /** The latest time in the object's managed fields; absent if there is none. */
  readonly time?: string;
  /** The phase of the status, or the type of its last changed condition. */
  readonly state?: string;
}

export interface TimelineConfig {
  /** The time of users: pauses in the history are measured by it. */
  readonly clock: Clock;
  readonly clientOf: (user: User, userAgent: string) => Client;
}

export class Timeline {
  readonly #config: TimelineConfig;
  #running = 0;

  constructor(config: TimelineConfig) {
    this.#config = config;
  }

  async serve(request: ConsoleRequest): Promise<ConsoleResponse> {
    expectMethod(request, 'GET');
    const names = request.query.getAll('resource');
    if (names.length === 0 || names.length > MAX_RESOURCES)
      throw apierrors.badRequest(`the query needs from 1 to ${MAX_RESOURCES} resources`);
    const from = revisionIn(request.query, 'from');
    const to = revisionIn(request.query, 'to');
    if (this.#running >= MAX_CONCURRENT)
      throw apierrors.tooManyRequests('too many timelines at a time', 1);
    this.#running++;
    const client = this.#config.clientOf(request.user!, USER_AGENT);
    try {
      const resources = await servedResources(client, request.signal);
      const types = names.map((name) => {
        const type = name.length <= 512 ? findResource(resources, name) : undefined;
        if (type === undefined) throw apierrors.badRequest('the server has no such resource');
        return type;
      });
      const namespace = request.query.get('namespace') ?? '';
      return json(await this.#read({ client, types, namespace, from, to, signal: request.signal }));
    } finally {
      this.#running--;
      client.transport.close();
    }
  }

  async #read(query: Query): Promise<object> {
    const now = await presentRevision(query);
    const to = query.to === undefined || query.to > now ? now : query.to;
    const wanted = query.from ?? (to > DEFAULT_SPAN ? to - DEFAULT_SPAN : 1n);
    if (wanted > to) throw apierrors.badRequest('from must not be after to');
    const { from, changes } = await this.#changesFrom(query, wanted, to);
    changes.sort((a, b) => Number(BigInt(a.revision) - BigInt(b.revision)));
    return {
      from: String(from),
      to: String(to),
      now: String(now),
      complete: changes.length <= MAX_EVENTS,
      changes: changes.slice(0, MAX_EVENTS),
    };
  }

  /** Reads from a revision, or if it is forgotten and the client named none: from the oldest. */
  async #changesFrom(
    query: Query,
    from: bigint,
    to: bigint,
  ): Promise<{ readonly from: bigint; readonly changes: Change[] }> {
    try {
      const each = query.types.map((type) => this.#changesOf(query, type, from, to));
      return { from, changes: (await Promise.all(each)).flat() };
    } catch (error) {
      const oldest = oldestIn(error);
      if (query.from !== undefined || oldest === undefined || oldest <= from || oldest > to)
        throw error;
      return this.#changesFrom(query, oldest, to);
    }
  }

  async #changesOf(
    { client, namespace, signal }: Query,
    type: ServedResource,
    from: bigint,
    to: bigint,
  ): Promise<Change[]> {
    const stream = await client.transport.watch<KubeObject>({
      method: 'GET',
      path: pathOf(type, namespace),
      query: { resourceVersion: String(from) },
      signal,
    });
    const changes: Change[] = [];
    try {
      for await (const { type: change, object } of this.#untilQuiet(stream)) {
        if (change === 'ERROR') throw apierrors.watchError(object);
        const revision = BigInt(object.metadata.resourceVersion ?? '0');
        if (revision > to || changes.length > MAX_EVENTS) break;
        if (change !== 'BOOKMARK') changes.push(changeOf(change, type, object));
      }
    } finally {
      stream.stop();
    }
    return changes;
  }

  /** Yields the events of a stream until none comes for QUIET_MS. */
  async *#untilQuiet(
    stream: WatchStream<WatchEvent<KubeObject>>,
  ): AsyncGenerator<WatchEvent<KubeObject>> {
    const events = stream[Symbol.asyncIterator]();
    for (;;) {
      const late = new AbortController();
      const quiet = this.#config.clock.sleep(QUIET_MS, late.signal).then(
        () => undefined,
        () => undefined,
      );
      const next = await Promise.race([events.next(), quiet]);
      late.abort();
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  }
}

interface Query {
  readonly client: Client;
  readonly types: readonly ServedResource[];
  /** '': all namespaces. */
  readonly namespace: string;
  readonly from: bigint | undefined;
  readonly to: bigint | undefined;
  readonly signal: AbortSignal;
}

function revisionIn(query: URLSearchParams, name: string): bigint | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^\d{1,18}$/.test(value) || BigInt(value) < 1n)
    throw apierrors.badRequest(`the parameter ${name} must be a resourceVersion`);
  return BigInt(value);
}

/** Returns the revision of the store. Also checks that the user may list the resources. */
async function presentRevision({ client, types, namespace, signal }: Query): Promise<bigint> {
  const revisions = await Promise.all(
    types.map(async (type) => {
      const { metadata } = await client.transport.request<{
        readonly metadata: { readonly resourceVersion?: string };
      }>({ method: 'GET', path: pathOf(type, namespace), query: { limit: 1 }, signal });
      return BigInt(metadata.resourceVersion ?? '0');
    }),
  );
  return revisions.reduce((highest, each) => (each > highest ? each : highest), 0n);
}

function pathOf(
  { group, version, resource, namespaced }: ServedResource,
  namespace: string,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced && namespace !== ''
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}`
    : `${root}/${resource}`;
}

/** Returns the oldest revision that the store has, which the error for a forgotten one names. */
function oldestIn(error: unknown): bigint | undefined {
  if (!apierrors.isResourceExpired(error) && !apierrors.isGone(error)) return undefined;
  const [, oldest] = /\((\d+)\)$/.exec((error as Error).message) ?? [];
  return oldest === undefined ? undefined : BigInt(oldest);
}

interface WithStatus extends KubeObject {
  readonly status?: {
    readonly phase?: unknown;
    readonly conditions?: readonly {
      readonly type?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

function changeOf(
  type: string,
  { resource, group, kind }: ServedResource,
  object: WithStatus,
): Change {
  const { name, namespace, uid, resourceVersion = '', managedFields = [] } = object.metadata;
  const time = managedFields.map((each) => each.time ?? '').reduce(later, '');
  const { phase, conditions = [] } = object.status ?? {};
  const last = conditions.map((each) => each.lastTransitionTime ?? '').reduce(later, '');
  const state =
    typeof phase === 'string'
      ? phase
      : conditions.find((each) => each.lastTransitionTime === last)?.type;
  return {
    revision: resourceVersion,
    type,
    resource: group === '' ? resource : `${resource}.${group}`,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    uid: uid ?? '',
    ...(time !== '' && { time }),
    ...(state !== undefined && { state }),
  };
}

const later = (a: string, b: string): string => (a > b ? a : b);
