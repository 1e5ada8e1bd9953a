// The records of what happens in a cluster: requests, changes of the store, and watch events that
// clients receive.

import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';

interface ClusterRecord {
  /** The position among all records: they are in the order in which things began. */
  readonly sequence: number;
  /** Wall-clock time of the cluster, in milliseconds. */
  readonly timeMs: number;
}

/** A request to the API server. */
export interface RequestRecord extends ClusterRecord {
  readonly type: 'request';
  /** The name of the client: of a component, a controller or a user. */
  readonly client: string;
  readonly user: string;
  readonly userAgent: string;
  /**
   * 'get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', or an HTTP
   * method.
   */
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** The name of the object. A create has the name that the object was given. */
  readonly name: string;
  readonly path: string;
  readonly dryRun: boolean;
  /** The HTTP status code. Undefined: in flight. */
  readonly code: number | undefined;
  /** The message of a failure. */
  readonly message: string | undefined;
}

/** A request that has not been served yet. */
export type PendingRequest = Omit<
  RequestRecord,
  'type' | 'sequence' | 'timeMs' | 'code' | 'message'
> & {
  /**
   * The object or patch that was sent. Undefined if there is none, or if it came as bytes over a
   * connection.
   */
  readonly body: unknown;
  readonly signal: AbortSignal;
};

/** A change of one object in the store. */
export interface ChangeRecord extends ClusterRecord {
  readonly type: 'change';
  readonly change: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** After the change; of a DELETED the last state. */
  readonly object: Immutable<KubeObject>;
  /** Undefined for an ADDED. */
  readonly previous: Immutable<KubeObject> | undefined;
}

/** A watch event that a client has received. */
export interface DeliveryRecord extends ClusterRecord {
  readonly type: 'delivery';
  readonly client: string;
  readonly change: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Immutable<KubeObject>;
}

export type ClusterEvent = RequestRecord | ChangeRecord | DeliveryRecord;

/**
 * The records in order: iterate for all until now, or with `for await` also for all that is
 * still to come.
 */
export interface EventLog extends Iterable<ClusterEvent>, AsyncIterable<ClusterEvent> {
  /** The records of one type that the filter takes. */
  filter<T extends ClusterEvent['type']>(
    type: T,
    filter?: (event: Extract<ClusterEvent, { type: T }>) => boolean,
  ): readonly Extract<ClusterEvent, { type: T }>[];
  /** How many old records had to make room. */
  readonly dropped: number;
}

/** A component of the system by its user, anything else by its user agent, which operators set. */
export function clientName(user: string, userAgent: string): string {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  if (account !== null)
    return account[1] === 'kube-system' ? `${account[2]}` : `${account[1]}/${account[2]}`;
  if (user.startsWith('system:node:')) return `kubelet ${user.slice('system:node:'.length)}`;
  if (user.startsWith('system:')) return user.slice('system:'.length);
  const [agent = ''] = userAgent.split(/[/ ]/);
  return agent === '' || agent === 'coxswain' ? user : agent;
}

/** Returns 'ConfigMap default/x'. */
export function describeObject({ kind = '', metadata }: Immutable<KubeObject>): string {
  const { namespace, name } = metadata;
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

/** Returns a line for a record: its time, and who did what. */
export function formatEvent(event: ClusterEvent): string {
  const time = new Date(event.timeMs).toISOString().slice(0, 23).replace('T', ' ');
  switch (event.type) {
    case 'request': {
      const { client, verb, path, code, message } = event;
      const failure = message === undefined ? '' : `: ${message}`;
      return `${time} request  ${client}: ${verb} ${path} ${code ?? 'in flight'}${failure}`;
    }
    case 'change':
      return `${time} change   ${event.change} ${describeObject(event.object)} at ${event.revision}`;
    case 'delivery':
      return `${time} delivery ${event.change} ${describeObject(event.object)} to ${event.client}`;
  }
}
