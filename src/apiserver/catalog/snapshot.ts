// The kinds that are installed at one moment, indexed. A snapshot is immutable. The next snapshot
// shares every unchanged group and version with it, so values that are derived from a group, a
// version or a kind can be cached in a WeakMap under it.

import { compareKubeVersions } from '#api/machinery/kube-version.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import { PersistentMap } from '#machinery/collections/persistent-map.ts';
import type { Kind } from './kind.ts';

/**
 * The order in which clients that have only the name of a resource try the groups. Other groups
 * follow, by name.
 */
const GROUP_ORDER: ReadonlyMap<string, number> = new Map(
  [
    '',
    'apiregistration.k8s.io',
    'apps',
    'events.k8s.io',
    'authentication.k8s.io',
    'authorization.k8s.io',
    'autoscaling',
    'batch',
    'certificates.k8s.io',
    'networking.k8s.io',
    'policy',
    'rbac.authorization.k8s.io',
    'storage.k8s.io',
    'admissionregistration.k8s.io',
    'apiextensions.k8s.io',
    'scheduling.k8s.io',
    'coordination.k8s.io',
    'node.k8s.io',
    'discovery.k8s.io',
    'resource.k8s.io',
    'flowcontrol.apiserver.k8s.io',
  ].map((group, index) => [group, index]),
);

const NONE: readonly Kind[] = [];

/** The kinds of one version of a group. */
export class VersionIndex {
  readonly group: string;
  readonly version: string;
  /** The number of kinds that clients can request. */
  readonly served: number;
  readonly #byResource: PersistentMap<Kind>;
  /**
   * Kinds by name of the kind. Several resources may have the same kind; the one that was installed
   * first comes first.
   */
  readonly #byKind: PersistentMap<readonly Kind[]>;
  #published: readonly Kind[] | undefined;

  constructor(
    group: string,
    version: string,
    byResource = PersistentMap.empty<Kind>(),
    byKind = PersistentMap.empty<readonly Kind[]>(),
    served = 0,
  ) {
    this.group = group;
    this.version = version;
    this.#byResource = byResource;
    this.#byKind = byKind;
    this.served = served;
  }

  get size(): number {
    return this.#byResource.size;
  }

  get(resource: string): Kind | undefined {
    return this.#byResource.get(resource);
  }

  getKind(kind: string): Kind | undefined {
    return this.#byKind.get(kind)?.[0];
  }

  /** True if clients can request a kind of it that is not a custom one. */
  get hasTypedKind(): boolean {
    if (this.served === 0) return false;
    for (const kind of this.#byResource.values())
      if (isServed(kind) && !isCustom(kind)) return true;
    return false;
  }

  /** Returns all kinds, in no particular order. */
  kinds(): Iterable<Kind> {
    return this.#byResource.values();
  }

  /** The kinds that discovery and OpenAPI describe, ordered by the names of their resources. */
  get published(): readonly Kind[] {
    this.#published ??= [...this.#byResource.values()]
      .filter(({ visibility = 'published' }) => visibility === 'published')
      .toSorted((a, b) => (a.type.resource < b.type.resource ? -1 : 1));
    return this.#published;
  }

  with(kind: Kind): VersionIndex {
    const { resource, kind: name } = kind.type;
    const sameKind = this.#byKind.get(name) ?? NONE;
    return new VersionIndex(
      this.group,
      this.version,
      this.#byResource.set(resource, kind),
      this.#byKind.set(name, [...sameKind, kind]),
      this.served + (isServed(kind) ? 1 : 0),
    );
  }

  without(kind: Kind): VersionIndex {
    const { resource, kind: name } = kind.type;
    const sameKind = (this.#byKind.get(name) ?? NONE).filter((other) => other !== kind);
    return new VersionIndex(
      this.group,
      this.version,
      this.#byResource.delete(resource),
      sameKind.length === 0 ? this.#byKind.delete(name) : this.#byKind.set(name, sameKind),
      this.served - (isServed(kind) ? 1 : 0),
    );
  }
}

/** The kinds of one group. */
export class GroupIndex {
  readonly name: string;
  /** The versions, with the preferred one first. */
  readonly versions: readonly VersionIndex[];
  /** The versions of each resource, with the preferred one first. */
  readonly #byResource: PersistentMap<readonly Kind[]>;
  #published: readonly VersionIndex[] | undefined;

  constructor(
    name: string,
    versions: readonly VersionIndex[] = [],
    byResource = PersistentMap.empty<readonly Kind[]>(),
  ) {
    this.name = name;
    this.versions = versions;
    this.#byResource = byResource;
  }

  version(name: string): VersionIndex | undefined {
    for (const index of this.versions) if (index.version === name) return index;
    return undefined;
  }

  versionsOf(resource: string): readonly Kind[] {
    return this.#byResource.get(resource) ?? NONE;
  }

  /** True if clients can request any of its kinds. */
  get served(): boolean {
    return this.versions.some(({ served }) => served > 0);
  }

  /** True if clients can request any of its kinds that is not a custom one. */
  get servedWithType(): boolean {
    return this.versions.some(({ hasTypedKind }) => hasTypedKind);
  }

  /** The versions with a kind that discovery and OpenAPI describe. */
  get published(): readonly VersionIndex[] {
    this.#published ??= this.versions.filter(({ published }) => published.length > 0);
    return this.#published;
  }

  publishedVersion(name: string): VersionIndex | undefined {
    return this.published.find(({ version }) => version === name);
  }

  with(kind: Kind): GroupIndex {
    const { version, resource } = kind.type;
    const before = this.version(version) ?? new VersionIndex(this.name, version);
    const versions = [...this.versions.filter((index) => index !== before), before.with(kind)];
    versions.sort((a, b) => compareKubeVersions(a.version, b.version));
    const kinds = [...this.versionsOf(resource), kind];
    kinds.sort((a, b) => compareKubeVersions(a.type.version, b.type.version));
    return new GroupIndex(this.name, versions, this.#byResource.set(resource, kinds));
  }

  without(kind: Kind): GroupIndex {
    const { version, resource } = kind.type;
    const versions = this.versions.flatMap((index) => {
      if (index.version !== version) return [index];
      const rest = index.without(kind);
      return rest.size === 0 ? [] : [rest];
    });
    const kinds = this.versionsOf(resource).filter((other) => other !== kind);
    const byResource =
      kinds.length === 0
        ? this.#byResource.delete(resource)
        : this.#byResource.set(resource, kinds);
    return new GroupIndex(this.name, versions, byResource);
  }
}

export class CatalogSnapshot {
  /** A number that is higher than that of every earlier snapshot. */
  readonly version: number;
  /** The number of kinds. */
  readonly size: number;
  readonly #groups: PersistentMap<GroupIndex>;
  #ordered: readonly GroupIndex[] | undefined;
  #published: readonly GroupIndex[] | undefined;

  constructor(version = 0, size = 0, groups = PersistentMap.empty<GroupIndex>()) {
    this.version = version;
    this.size = size;
    this.#groups = groups;
  }

  group(name: string): GroupIndex | undefined {
    return this.#groups.get(name);
  }

  /** The groups, in the order of discovery. */
  get groups(): readonly GroupIndex[] {
    this.#ordered ??= [...this.#groups.values()].sort(compareGroups);
    return this.#ordered;
  }

  /** The groups that discovery and OpenAPI describe, in the order of discovery. */
  get published(): readonly GroupIndex[] {
    this.#published ??= this.groups.filter(({ published }) => published.length > 0);
    return this.#published;
  }

  /**
   * Returns the kinds that discovery and OpenAPI describe, ordered by group as in discovery, by
   * version, and by the name of the resource.
   */
  publishedKinds(): readonly Kind[] {
    return this.published
      .flatMap(({ published }) => published)
      .flatMap(({ published }) => published);
  }

  get(group: string, version: string, resource: string): Kind | undefined {
    return this.#groups.get(group)?.version(version)?.get(resource);
  }

  getKind({ group, version, kind }: GroupVersionKind): Kind | undefined {
    return this.#groups.get(group)?.version(version)?.getKind(kind);
  }

  /** Returns the versions of a resource, with the preferred one first. */
  versionsOf(group: string, resource: string): readonly Kind[] {
    return this.#groups.get(group)?.versionsOf(resource) ?? NONE;
  }

  /**
   * Returns the stored version of a resource if it is installed, otherwise the preferred version.
   */
  stored(group: string, resource: string): Kind | undefined {
    const versions = this.versionsOf(group, resource);
    return versions.find(({ storedKind }) => storedKind === undefined) ?? versions[0];
  }

  /** Yields all kinds, in no particular order. */
  *[Symbol.iterator](): Generator<Kind> {
    for (const group of this.#groups.values())
      for (const version of group.versions) yield* version.kinds();
  }

  /**
   * Returns the snapshot after a change. The cost depends on the number of kinds that are removed
   * and added, not on how many stay. Throws an Error if two kinds would be the same resource of a
   * group and version.
   */
  next(removed: Iterable<Kind>, added: Iterable<Kind>): CatalogSnapshot {
    let groups = this.#groups;
    let { size } = this;
    for (const kind of removed) {
      const { group: name } = kind.type;
      const group = groups.get(name)!.without(kind);
      groups = group.versions.length === 0 ? groups.delete(name) : groups.set(name, group);
      size--;
    }
    for (const kind of added) {
      const { group: name, version, resource } = kind.type;
      const group = groups.get(name) ?? new GroupIndex(name);
      if (group.version(version)?.get(resource) !== undefined) {
        throw new Error(
          `resource ${resource} is installed twice in ${name === '' ? version : `${name}/${version}`}`,
        );
      }
      groups = groups.set(name, group.with(kind));
      size++;
    }
    return new CatalogSnapshot(this.version + 1, size, groups);
  }
}

export function isServed({ visibility }: Kind): boolean {
  return visibility !== 'internal';
}

function isCustom(kind: Kind): boolean {
  return kind.isCustom === true;
}

function compareGroups({ name: a }: GroupIndex, { name: b }: GroupIndex): number {
  const rank = (name: string): number => GROUP_ORDER.get(name) ?? GROUP_ORDER.size;
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}
