// The scale subresource has its own fields (spec.replicas of autoscaling/v1), which are one field
// of the object behind it. The owners are translated before the subresource is written, and back.

import { runSteps } from '#machinery/turn.ts';
import { FieldSet, type Path } from './field-set.ts';
import {
  decodeManagers,
  encodeManagers,
  type ManagedFieldsEntry,
  type Manager,
  managerId,
} from './managers.ts';

const SCALE_API_VERSION = 'autoscaling/v1';
const SCALE_REPLICAS: Path = ['f:spec', 'f:replicas'];

export interface ScaledKind {
  /** The API version and the path of the replicas in the scaled object. */
  readonly apiVersion: string;
  /**
   * The paths of the replicas by apiVersion, for a kind with several versions. Undefined: there is
   * no scale in this version. Owners in other versions are dropped. Default: spec.replicas, in
   * `apiVersion` alone.
   */
  readonly replicas?: ReadonlyMap<string, Path | undefined>;
}

function pathsOf({ apiVersion, replicas }: ScaledKind): ReadonlyMap<string, Path | undefined> {
  return replicas ?? new Map([[apiVersion, SCALE_REPLICAS]]);
}

type Entries = readonly ManagedFieldsEntry[] | undefined;

/** Returns the entries of the Scale: the owners of the object's replicas. */
export function scaleEntries(parent: Entries, kind: ScaledKind): Entries {
  const paths = pathsOf(kind);
  const managers = new Map<string, Manager>();
  for (const owner of decodeManagers(parent, true).values()) {
    const replicas = paths.get(owner.apiVersion);
    if (replicas === undefined || !owner.fields.has(replicas)) continue;
    add(managers, {
      ...owner,
      apiVersion: SCALE_API_VERSION,
      fields: FieldSet.of(SCALE_REPLICAS),
    });
  }
  return runSteps(encodeManagers(managers));
}

/**
 * Returns the entries of the object after its Scale was written, from its previous entries and
 * those of the Scale.
 */
export function parentEntries(parent: Entries, scale: Entries, kind: ScaledKind): Entries {
  const { apiVersion } = kind;
  const paths = pathsOf(kind);
  const scalers = new Map(
    [...decodeManagers(scale).values()].map((owner) => [whoOf(owner), owner]),
  );
  const managers = new Map<string, Manager>();
  for (const [id, owner] of decodeManagers(parent, true)) {
    if (!paths.has(owner.apiVersion)) continue;
    const replicas = paths.get(owner.apiVersion);
    if (replicas === undefined || !owner.fields.has(replicas)) {
      managers.set(id, owner);
    } else if (scalers.delete(whoOf(owner))) {
      managers.set(id, owner);
    } else {
      const fields = owner.fields.difference(FieldSet.of(replicas));
      if (!fields.isEmpty) managers.set(id, { ...owner, fields });
    }
  }
  for (const owner of scalers.values()) {
    if (!owner.fields.has(SCALE_REPLICAS)) continue;
    // Upstream sets no time for scaling.
    add(managers, {
      ...owner,
      apiVersion,
      time: undefined,
      fields: FieldSet.of(paths.get(apiVersion) ?? SCALE_REPLICAS),
    });
  }
  return runSteps(encodeManagers(managers));
}

const add = (managers: Map<string, Manager>, owner: Manager): void =>
  void managers.set(managerId(owner), owner);

/** Returns the identity of a manager, whatever its version. */
function whoOf({ manager, operation, subresource }: Manager): string {
  return JSON.stringify([manager, operation, subresource]);
}
