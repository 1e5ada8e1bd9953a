// The roles and bindings of the cluster in memory, by those to whom they apply: every request asks for them. It follows the
// registry, so that it is behind by as little as any watcher is.

import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../../api/rbac/v1/index.ts';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject } from '../../../api/rbac/v1/index.ts';
import type { Immutable } from '../../../api/meta/v1/index.ts';
import type { Clock } from '../../../machinery/clock.ts';
import type { Logger } from '../../../machinery/log.ts';
import type { WatchStream } from '../../../machinery/watch.ts';
import type { ServedResource } from '../../registry/rest.ts';
import { everything } from '../../registry/selection.ts';
import type { EncodedWatchEvent, UserInfo } from '../../request.ts';

export interface RoleCacheConfig {
  /** What is served, asked for at the start: those of rbac.authorization.k8s.io are followed. */
  readonly served: () => readonly ServedResource[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A binding as far as an answer depends on it. */
export interface Binding {
  /** undefined: everywhere. */
  readonly namespace: string | undefined;
  readonly role: { readonly kind: string; readonly name: string };
}

type Rules = readonly Immutable<PolicyRule>[];
type Known = Immutable<Role | ClusterRole | RoleBinding | ClusterRoleBinding>;

const SERVER = { name: 'system:apiserver', groups: ['system:masters'] } as const;
const RETRY_MS = 1_000;

export class RoleCache {
  readonly #config: RoleCacheConfig;
  readonly #clusterRoles = new Map<string, Rules>();
  /** By 'namespace/name'. */
  readonly #roles = new Map<string, Rules>();
  /** Bindings by 'resource namespace/name', with the subjects under which they are filed. */
  readonly #bindings = new Map<string, { readonly binding: Binding; readonly subjects: readonly string[] }>();
  readonly #bySubject = new Map<string, Set<Binding>>();
  readonly #streams = new Set<WatchStream<EncodedWatchEvent>>();
  #stopped = false;

  constructor(config: RoleCacheConfig) {
    this.#config = config;
  }

  /** Resolves when everything that there is now is known. Rejects if the store cannot be read. */
  async start(): Promise<void> {
    const kept: readonly (readonly [{ readonly resource: string }, Kept])[] = [
      [
        clusterRoles,
        { set: (role) => this.#clusterRoles.set(keyOf(role), rulesOf(role)), delete: (key) => this.#clusterRoles.delete(key) },
      ],
      [roles, { set: (role) => this.#roles.set(keyOf(role), rulesOf(role)), delete: (key) => this.#roles.delete(key) }],
      [clusterRoleBindings, this.#keepBindings(clusterRoleBindings.resource)],
      [roleBindings, this.#keepBindings(roleBindings.resource)],
    ];
    await Promise.all(
      kept.map(async ([{ resource }, keep]) => {
        const known = new Set<string>();
        const stream = await this.#open(resource);
        await new Promise<void>((synced, failed) => {
          void this.#follow(resource, stream, known, keep, synced).catch(failed);
        });
      }),
    );
  }

  stop(): void {
    this.#stopped = true;
    for (const stream of this.#streams) stream.stop();
  }

  /** The rules of a binding's role; undefined if there is none. */
  rulesOf({ namespace, role }: Binding): Rules | undefined {
    return role.kind === 'ClusterRole' ? this.#clusterRoles.get(role.name) : this.#roles.get(`${namespace ?? ''}/${role.name}`);
  }

  /** The bindings that apply to a user, wherever they hold. */
  *bindingsOf(user: UserInfo): Iterable<Binding> {
    const own = this.#bySubject.get(userKey(user.name));
    if (own !== undefined) yield* own;
    for (const group of user.groups) {
      const those = this.#bySubject.get(groupKey(group));
      if (those !== undefined) yield* those;
    }
  }

  #keepBindings(resource: string): Kept {
    const forget = (key: string): void => {
      const known = this.#bindings.get(`${resource} ${key}`);
      if (known === undefined) return;
      this.#bindings.delete(`${resource} ${key}`);
      for (const subject of known.subjects) {
        const set = this.#bySubject.get(subject);
        set?.delete(known.binding);
        if (set?.size === 0) this.#bySubject.delete(subject);
      }
    };
    return {
      set: (object) => {
        const { metadata, roleRef, subjects = [] } = object as Immutable<RoleBinding | ClusterRoleBinding>;
        const key = keyOf(object);
        forget(key);
        const binding: Binding = { namespace: metadata.namespace, role: { kind: roleRef.kind, name: roleRef.name } };
        const keys = [...new Set(subjects.map((subject) => subjectKey(subject, metadata.namespace)))];
        this.#bindings.set(`${resource} ${key}`, { binding, subjects: keys });
        for (const each of keys) {
          const set = this.#bySubject.get(each);
          if (set === undefined) this.#bySubject.set(each, new Set([binding]));
          else set.add(binding);
        }
      },
      delete: forget,
    };
  }

  async #open(resource: string): Promise<WatchStream<EncodedWatchEvent>> {
    const served = this.#config.served().find(({ type }) => type.group === clusterRoles.group && type.resource === resource);
    if (served?.rest.watch === undefined) throw new Error(`${resource} are not served, but needed to know who may do what`);
    const context = { user: SERVER, namespace: '', signal: new AbortController().signal, warnings: [] };
    const stream = await served.rest.watch(context, {
      selection: everything,
      resourceVersion: '',
      allowBookmarks: true,
      sendInitialEvents: true,
    });
    this.#streams.add(stream);
    return stream;
  }

  /** `onSynced`: called when what was there at first is known; what is not told of until then has gone. */
  async #follow(
    resource: string,
    stream: WatchStream<EncodedWatchEvent>,
    known: Set<string>,
    keep: Kept,
    onSynced?: () => void,
  ): Promise<void> {
    const seen = new Set<string>();
    let syncing = true;
    try {
      for await (const { type, object } of stream) {
        if (type === 'ERROR') break;
        if (type === 'BOOKMARK') {
          if (!syncing) continue;
          syncing = false;
          for (const key of known) {
            if (seen.has(key)) continue;
            known.delete(key);
            keep.delete(key);
          }
          onSynced?.();
          continue;
        }
        const value = object.object() as Known;
        const key = keyOf(value);
        if (type === 'DELETED') {
          known.delete(key);
          keep.delete(key);
          continue;
        }
        if (syncing) seen.add(key);
        known.add(key);
        keep.set(value);
      }
    } finally {
      this.#streams.delete(stream);
    }
    if (this.#stopped) return;
    // Whoever may do something because of a role that has gone must not go on with it: begin anew, and again until it works.
    const { clock, logger } = this.#config;
    logger.debug('the watch on roles ended', { resource });
    clock.setTimer(RETRY_MS, () => void this.#again(resource, known, keep));
  }

  async #again(resource: string, known: Set<string>, keep: Kept): Promise<void> {
    if (this.#stopped) return;
    const { clock, logger } = this.#config;
    try {
      await this.#follow(resource, await this.#open(resource), known, keep);
    } catch (err) {
      logger.warn('roles cannot be read, will retry', { resource, err });
      clock.setTimer(RETRY_MS, () => void this.#again(resource, known, keep));
    }
  }
}

interface Kept {
  set(object: Known): void;
  delete(key: string): void;
}

function keyOf({ metadata }: Known): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

const rulesOf = (object: Known): Rules => (object as Immutable<Role | ClusterRole>).rules ?? [];

const userKey = (name: string): string => `user ${name}`;
const groupKey = (name: string): string => `group ${name}`;

/** A ServiceAccount without a namespace is of the binding's. */
function subjectKey({ kind, name, namespace }: Immutable<Subject>, bindingNamespace = ''): string {
  switch (kind) {
    case 'Group':
      return groupKey(name);
    case 'ServiceAccount':
      return userKey(
        `system:serviceaccount:${namespace === undefined || namespace === '' ? bindingNamespace : namespace}:${name}`,
      );
    default:
      return userKey(name);
  }
}
