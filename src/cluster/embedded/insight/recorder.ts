// Records requests, watch events and changes, from when it is started. Until then a request costs
// one comparison.

import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import { parseRequestInfo } from '#apiserver/filters/request-info.ts';
import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import type {
  ApiRequest,
  ApiResponse,
  EncodedObject,
  EncodedWatchEvent,
  Handler,
  RequestInfo,
} from '#apiserver/request.ts';
import type { Clock } from '#machinery/clock.ts';
import { forEachEvent, mapWatch, type WatchStream } from '#machinery/watch.ts';
import type { KeyValue, Storage, StorageEvent } from '#storage/interface.ts';
import { RecordLog } from './log.ts';
import {
  type ChangeRecord,
  clientName,
  type DeliveryRecord,
  type RequestRecord,
  type PendingRequest,
} from './records.ts';

/** Called before a request is served; it waits for the promise. */
export type Gate = (request: PendingRequest) => Promise<void> | undefined;

/** A request as it is recorded, with what causes are found by. */
export interface RecordedRequest extends RequestRecord {
  /**
   * The key of the object in the store; '' for requests for collections, and those that are not for
   * objects.
   */
  readonly key: string;
  /** The revision of the object in the response. */
  readonly revision: number | undefined;
  /**
   * The position of the record that was the last when the request was served. Infinity: in flight.
   */
  readonly ended: number;
}

export interface RecordedChange extends ChangeRecord {
  readonly key: string;
}

export type Recorded = RecordedRequest | RecordedChange | DeliveryRecord;

const ROOT = '/registry/';

export class Recorder {
  readonly log = new RecordLog<Recorded>();
  readonly #clock: Clock;
  readonly #storage: Storage;
  #sequence = 0;
  #changes: WatchStream<StorageEvent> | undefined;
  #failure: unknown;
  /** Called with each change. Undefined: nothing needs to know at once. */
  onChange: ((change: RecordedChange) => void) | undefined;
  /** Undefined: no request is held. */
  gate: Gate | undefined;

  constructor({ clock, storage }: { readonly clock: Clock; readonly storage: Storage }) {
    this.#clock = clock;
    this.#storage = storage;
  }

  get started(): boolean {
    return this.#changes !== undefined;
  }

  /** Idempotent. Watches that are open already are not recorded. */
  start(): void {
    if (this.#changes !== undefined) return;
    this.#follow(0);
  }

  stop(): void {
    this.#changes?.stop();
    this.log.end();
  }

  /** Throws the error that ended the recording of changes, if there is one. */
  check(): void {
    if (this.#failure !== undefined)
      throw new Error('insight: changes could not be recorded', { cause: this.#failure });
  }

  readonly wrap =
    (handler: Handler): Handler =>
    (request) => {
      if (this.#changes === undefined && this.gate === undefined) return handler(request);
      return this.#observe(request, handler);
    };

  #follow(afterRevision: number): void {
    const changes = this.#storage.watch(ROOT, { afterRevision });
    this.#changes = changes;
    forEachEvent(changes, (event) => this.#record(event)).catch((error: unknown) => {
      this.#failure = error;
    });
  }

  #record(event: StorageEvent): void {
    if (event.type === 'progress') return;
    const { previous, revision } = event;
    const key = event.type === 'put' ? event.kv.key : event.key;
    const state = event.type === 'put' ? event.kv : event.previous;
    const change =
      event.type === 'delete' ? 'DELETED' : previous === undefined ? 'ADDED' : 'MODIFIED';
    const [sequence, timeMs] = [++this.#sequence, this.#clock.now()];
    const record = new Change({ sequence, timeMs, key, change, revision, state, previous });
    this.log.push(record, state.value.length);
    this.onChange?.(record);
  }

  async #observe(request: ApiRequest, handler: Handler): Promise<ApiResponse> {
    const pending = pendingOf(request);
    if (pending !== undefined) await this.gate?.(pending);
    if (this.#changes === undefined || pending === undefined) return handler(request);
    const { body: _body, signal: _signal, ...what } = pending;
    const record = new Request({
      ...what,
      key: keyOf(what),
      sequence: ++this.#sequence,
      timeMs: this.#clock.now(),
    });
    this.log.push(record);
    const response = await handler(request);
    if (request.user !== undefined) record.madeBy(request.user.name);
    record.served(response, this.#sequence);
    return response.body.kind === 'watch'
      ? {
          ...response,
          body: { kind: 'watch', events: this.#deliveries(response.body.events, record) },
        }
      : response;
  }

  #deliveries(
    events: WatchStream<EncodedWatchEvent>,
    request: RequestRecord,
  ): WatchStream<EncodedWatchEvent> {
    return mapWatch(events, (event) => {
      const { type } = event;
      if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
        const [sequence, timeMs] = [++this.#sequence, this.#clock.now()];
        this.log.push(
          new Delivery({
            sequence,
            timeMs,
            client: request.client,
            change: type,
            encoded: event.object,
          }),
        );
      }
      return event;
    });
  }
}

/** Undefined for a path that cannot be read. */
function pendingOf(request: ApiRequest): PendingRequest | undefined {
  let info: RequestInfo;
  try {
    info = parseRequestInfo(request);
  } catch {
    // The chain rejects it with the reason.
    return undefined;
  }
  const userAgent = request.headers['user-agent'] ?? '';
  const user = request.user?.name ?? '';
  return {
    client: clientName(user, userAgent),
    user,
    userAgent,
    verb: info.verb,
    group: info.apiGroup,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.pathName,
    path: request.path,
    dryRun: request.query.has('dryRun'),
    body: request.body.kind === 'object' ? request.body.object : undefined,
    get signal() {
      return request.signal;
    },
  };
}

function keyOf({
  group,
  resource,
  namespace,
  name,
}: Pick<RequestRecord, 'group' | 'resource' | 'namespace' | 'name'>): string {
  if (resource === '' || name === '') return '';
  const own = resource === 'namespaces' || namespace === '' ? name : `${namespace}/${name}`;
  return `${storagePrefix({ group, resource })}${own}`;
}

type RequestFields = Omit<RecordedRequest, 'type' | 'code' | 'message' | 'revision' | 'ended'>;

class Request implements RecordedRequest {
  readonly type = 'request';
  readonly sequence: number;
  readonly timeMs: number;
  client: string;
  user: string;
  readonly userAgent: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  name: string;
  readonly path: string;
  readonly dryRun: boolean;
  key: string;
  code: number | undefined;
  ended = Infinity;
  #object: EncodedObject | undefined;

  constructor(fields: RequestFields) {
    this.sequence = fields.sequence;
    this.timeMs = fields.timeMs;
    this.client = fields.client;
    this.user = fields.user;
    this.userAgent = fields.userAgent;
    this.verb = fields.verb;
    this.group = fields.group;
    this.resource = fields.resource;
    this.subresource = fields.subresource;
    this.namespace = fields.namespace;
    this.name = fields.name;
    this.path = fields.path;
    this.dryRun = fields.dryRun;
    this.key = fields.key;
  }

  get message(): string | undefined {
    if (this.code === undefined || this.code < 400) return undefined;
    return (this.#object?.object() as { readonly message?: string } | undefined)?.message;
  }

  get revision(): number | undefined {
    const object = this.#object?.object() as Partial<KubeObject> | undefined;
    const revision = object?.metadata?.resourceVersion;
    return revision === undefined ? undefined : Number(revision);
  }

  /** Authentication names the user of a request that came over a connection. */
  madeBy(user: string): void {
    this.user = user;
    this.client = clientName(user, this.userAgent);
  }

  served({ code, body }: ApiResponse, ended: number): void {
    this.code = code;
    this.ended = ended;
    if (body.kind !== 'object' || (this.verb === 'get' && code < 400)) return;
    this.#object = body.object;
    if (this.verb !== 'create' || this.name !== '' || code >= 300) return;
    this.name = (body.object.object() as KubeObject).metadata?.name ?? '';
    this.key = keyOf(this);
  }
}

class Change implements RecordedChange {
  readonly type = 'change';
  readonly sequence: number;
  readonly timeMs: number;
  readonly key: string;
  readonly change: ChangeRecord['change'];
  readonly revision: number;
  readonly #state: KeyValue;
  readonly #previous: KeyValue | undefined;

  constructor(
    fields: Pick<RecordedChange, 'sequence' | 'timeMs' | 'key' | 'change' | 'revision'> & {
      readonly state: KeyValue;
      readonly previous: KeyValue | undefined;
    },
  ) {
    this.sequence = fields.sequence;
    this.timeMs = fields.timeMs;
    this.key = fields.key;
    this.change = fields.change;
    this.revision = fields.revision;
    this.#state = fields.state;
    this.#previous = fields.previous;
  }

  get object(): Immutable<KubeObject> {
    return decoded(this.#state);
  }

  get previous(): Immutable<KubeObject> | undefined {
    return this.#previous && decoded(this.#previous);
  }
}

const objects = new WeakMap<KeyValue, Immutable<KubeObject>>();

/** Decodes a state once. A state that is not an object has the key as its name. */
function decoded(state: KeyValue): Immutable<KubeObject> {
  let object = objects.get(state);
  if (object === undefined) {
    try {
      object = decodeFromStorage<KubeObject>(state.value, state.modRevision);
    } catch {
      object = { kind: 'Unknown', metadata: { name: state.key } as KubeObject['metadata'] };
    }
    objects.set(state, object);
  }
  return object;
}

class Delivery implements DeliveryRecord {
  readonly type = 'delivery';
  readonly sequence: number;
  readonly timeMs: number;
  readonly client: string;
  readonly change: DeliveryRecord['change'];
  readonly #encoded: EncodedObject;

  constructor(
    fields: Pick<DeliveryRecord, 'sequence' | 'timeMs' | 'client' | 'change'> & {
      readonly encoded: EncodedObject;
    },
  ) {
    this.sequence = fields.sequence;
    this.timeMs = fields.timeMs;
    this.client = fields.client;
    this.change = fields.change;
    this.#encoded = fields.encoded;
  }

  get object(): Immutable<KubeObject> {
    return this.#encoded.object() as Immutable<KubeObject>;
  }
}
