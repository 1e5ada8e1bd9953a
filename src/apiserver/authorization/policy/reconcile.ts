// Creates the roles and bindings of every cluster, and adds missing parts of them at every start.
// Additions of users stay. Objects with the annotation autoupdate=false are not changed.

import {
  type AggregationRule,
  clusterRoleBindings,
  clusterRoles,
  type PolicyRule,
  roleBindings,
  type RoleRef,
  roles,
  type Subject,
} from '#api/groups/rbac/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { CatalogSnapshot } from '#apiserver/catalog/snapshot.ts';
import { uncovered } from '../rbac/rules.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, METRICS_ROLES } from './cluster-roles.ts';
import { controllerPolicy } from './controller-roles.ts';
import { NAMESPACE_ROLE_BINDINGS, NAMESPACE_ROLES } from './namespace-roles.ts';
import { AUTO_UPDATE_ANNOTATION } from './words.ts';

type Strings = Readonly<Record<string, string>>;

interface Kept {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Strings;
    readonly annotations?: Strings;
  };
}
interface KeptRole extends Kept {
  readonly rules: Immutable<PolicyRule[]> | null;
  readonly aggregationRule?: Immutable<AggregationRule>;
}
interface KeptBinding extends Kept {
  readonly roleRef: Immutable<RoleRef>;
  readonly subjects?: Immutable<Subject[]>;
}

/** Reads and writes the objects of one kind, in one namespace or cluster-scoped. */
interface Access<T extends Kept> {
  list(): Promise<{ readonly items: readonly T[] }>;
  create(object: T): Promise<unknown>;
  update(object: T): Promise<unknown>;
  delete(
    name: string,
    options: { readonly preconditions: { readonly uid?: string } },
  ): Promise<unknown>;
}

/**
 * Reconciles all roles and bindings. Several servers may call this at every start. `client`: a
 * client of the group system:masters.
 */
export async function keepBootstrapPolicy(
  client: Client,
  snapshot: CatalogSnapshot,
): Promise<void> {
  const serves = (group: string): boolean => snapshot.group(group)?.served === true;
  // If RBAC is not served, existing roles stay in effect, and none are added.
  if (!serves(clusterRoles.group)) return;
  const ofControllers = controllerPolicy(serves);
  // Typed clients return more fields than this code reads, and accept fewer than they return.
  const access = <T extends Kept>(resource: unknown): Access<T> => resource as Access<T>;
  await Promise.all([
    keep(
      access<KeptRole>(client.resource(clusterRoles)),
      [
        ...CLUSTER_ROLES,
        ...(serves('metrics.k8s.io') ? METRICS_ROLES : []),
        ...ofControllers.roles,
      ],
      repairRole,
    ),
    keep(
      access<KeptBinding>(client.resource(clusterRoleBindings)),
      [...CLUSTER_ROLE_BINDINGS, ...ofControllers.bindings],
      repairBinding,
      splitBinding,
    ),
    ...byNamespace(NAMESPACE_ROLES).map(([namespace, wanted]) =>
      keep(access<KeptRole>(client.resource(roles).namespace(namespace)), wanted, repairRole),
    ),
    ...byNamespace(NAMESPACE_ROLE_BINDINGS).map(([namespace, wanted]) =>
      keep(
        access<KeptBinding>(client.resource(roleBindings).namespace(namespace)),
        wanted,
        repairBinding,
      ),
    ),
  ]);
}

function byNamespace<T extends Kept>(wanted: readonly T[]): [string, T[]][] {
  const lists = new Map<string, T[]>();
  for (const object of wanted) {
    const namespace = object.metadata.namespace ?? '';
    lists.set(namespace, [...(lists.get(namespace) ?? []), object]);
  }
  return [...lists];
}

/**
 * Returns the object to write; `replace`: the current object has to be deleted first. Undefined: no
 * change is needed.
 */
type Mend<T> = (
  current: T,
  wanted: T,
) => { readonly object: T; readonly replace?: boolean } | undefined;

async function keep<T extends Kept>(
  access: Access<T>,
  wanted: readonly T[],
  mend: Mend<T>,
  initial: (wanted: T, others: ReadonlyMap<string, T>) => T = (object) => object,
): Promise<void> {
  const { items } = await access.list();
  const current = new Map(items.map((item) => [item.metadata.name, item]));
  await Promise.all(
    wanted.map(async (object) => {
      const there = current.get(object.metadata.name);
      if (there === undefined) return ignoreRaces(access.create(initial(object, current)));
      if (there.metadata.annotations?.[AUTO_UPDATE_ANNOTATION] === 'false') return;
      const repaired = mend(there, object);
      if (repaired === undefined) return;
      if (repaired.replace !== true) return ignoreRaces(access.update(repaired.object));
      const { name, uid } = there.metadata;
      await ignoreRaces(access.delete(name, { preconditions: { uid } }));
      return ignoreRaces(access.create(repaired.object));
    }),
  );
}

/** Ignores conflicts with another server that starts and writes the same. The first write wins. */
async function ignoreRaces(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (
      !apierrors.isAlreadyExists(error) &&
      !apierrors.isConflict(error) &&
      !apierrors.isNotFound(error)
    )
      throw error;
  }
}

function repairRole(current: KeptRole, wanted: KeptRole): { object: KeptRole } | undefined {
  const metadata = repairMetadata(current, wanted);
  // The controller of aggregated roles maintains their rules.
  const missing =
    wanted.aggregationRule === undefined ? uncovered(current.rules ?? [], wanted.rules ?? []) : [];
  const has = current.aggregationRule?.clusterRoleSelectors ?? [];
  const missingSelectors = (wanted.aggregationRule?.clusterRoleSelectors ?? []).filter(
    (selector) => !has.some((present) => semanticEqual(present, selector)),
  );
  if (metadata === undefined && missing.length === 0 && missingSelectors.length === 0)
    return undefined;
  return {
    object: {
      ...current,
      metadata: metadata ?? current.metadata,
      rules: missing.length === 0 ? current.rules : [...(current.rules ?? []), ...missing],
      ...(missingSelectors.length > 0 && {
        aggregationRule: { clusterRoleSelectors: [...has, ...missingSelectors] },
      }),
    },
  };
}

/** Bindings that were parts of others before Kubernetes 1.14. */
const SPLIT_FROM: ReadonlyMap<string, string> = new Map([
  ['system:public-info-viewer', 'system:discovery'],
]);

/** Returns a missing binding with the subjects of the one of which it was a part: a user may have changed them. */
function splitBinding(wanted: KeptBinding, others: ReadonlyMap<string, KeptBinding>): KeptBinding {
  const source = others.get(SPLIT_FROM.get(wanted.metadata.name) ?? '');
  if (source === undefined) return wanted;
  const { labels, annotations } = source.metadata;
  const { subjects: _subjects, ...rest } = wanted;
  const split = {
    ...rest,
    metadata: { name: wanted.metadata.name, labels, annotations },
    ...(source.subjects !== undefined && { subjects: source.subjects }),
  };
  if (annotations?.[AUTO_UPDATE_ANNOTATION] === 'false') return split;
  return repairBinding(split, wanted)?.object ?? split;
}

function repairBinding(
  current: KeptBinding,
  wanted: KeptBinding,
): { object: KeptBinding; replace?: boolean } | undefined {
  // The role of a binding is immutable.
  if (!semanticEqual(current.roleRef, wanted.roleRef)) return { object: wanted, replace: true };
  const metadata = repairMetadata(current, wanted);
  const subjects = current.subjects ?? [];
  const missing = (wanted.subjects ?? []).filter(
    (subject) => !subjects.some((present) => semanticEqual(present, subject)),
  );
  if (metadata === undefined && missing.length === 0) return undefined;
  return {
    object: {
      ...current,
      metadata: metadata ?? current.metadata,
      ...(missing.length > 0 && { subjects: [...subjects, ...missing] }),
    },
  };
}

/**
 * Returns the metadata with the missing or wrong labels and annotations corrected; undefined if
 * none is.
 */
function repairMetadata({ metadata }: Kept, wanted: Kept): Kept['metadata'] | undefined {
  const labels = { ...metadata.labels, ...wanted.metadata.labels };
  const annotations = { ...metadata.annotations, ...wanted.metadata.annotations };
  const same =
    semanticEqual(labels, metadata.labels ?? {}) &&
    semanticEqual(annotations, metadata.annotations ?? {});
  return same ? undefined : { ...metadata, labels, annotations };
}
