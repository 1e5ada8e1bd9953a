// One request as policies see it: its attributes, its objects in other versions, its namespace.
// Expensive values are computed at their first use, and once.

import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { findCodec } from '#apiserver/catalog/codec.ts';
import type { CatalogSnapshot } from '#apiserver/catalog/snapshot.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import { convertVersion } from './conversion.ts';
import type { PolicyServices } from './services.ts';

export interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** A resource, and the kind of its objects. */
export interface ResourceAndKind {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
}

/** The objects of a request in one version. */
export interface VersionedObjects {
  readonly kind: GroupVersionKind;
  /** The object; for a connection, its options. */
  readonly object: object | undefined;
  readonly oldObject: KubeObject | undefined;
}

export class PolicyRequest {
  readonly attributes: AdmissionAttributes;
  /**
   * The namespace; for a Namespace its own name. '': the request is about a cluster-scoped object.
   */
  readonly namespace: string;
  /** The installed kinds at the time of the request. */
  readonly snapshot: CatalogSnapshot;
  readonly #services: PolicyServices;
  #namespaceObject: Promise<Immutable<Namespace> | undefined> | undefined;
  #equivalents: readonly ResourceAndKind[] | undefined;

  constructor(attributes: AdmissionAttributes, services: PolicyServices) {
    this.attributes = attributes;
    this.#services = services;
    this.snapshot = services.catalog.snapshot();
    const { namespace, name, object } = attributes;
    this.namespace =
      this.isNamespace && namespace === '' ? name || (object?.metadata.name ?? '') : namespace;
  }

  /** Reports whether the request is for a Namespace, or a subresource of one. */
  get isNamespace(): boolean {
    const { group, resource } = this.attributes.resource;
    return group === '' && resource === 'namespaces';
  }

  /** The requested resource and kind. */
  get requested(): ResourceAndKind {
    const { resource, kind } = this.attributes;
    return { resource, kind };
  }

  /** Returns the namespace that the request names; undefined if it does not exist. */
  findNamespace(): Promise<Immutable<Namespace> | undefined> {
    this.#namespaceObject ??= this.#lookUpNamespace();
    return this.#namespaceObject;
  }

  async #lookUpNamespace(): Promise<Immutable<Namespace> | undefined> {
    return this.#services.find<Immutable<Namespace>>('', 'namespaces', '', this.namespace);
  }

  /** The same resource in other groups and versions. */
  get equivalents(): readonly ResourceAndKind[] {
    this.#equivalents ??= this.#findEquivalents();
    return this.#equivalents;
  }

  #findEquivalents(): readonly ResourceAndKind[] {
    const { snapshot } = this;
    const { resource: requested, subresource } = this.attributes;
    const own = snapshot.get(requested.group, requested.version, requested.resource);
    // Versions in other groups (events have two) are declared with the kind.
    const declared = (own?.otherVersions ?? []).flatMap((gvk) => snapshot.getKind(gvk) ?? []);
    const versions = new Set([
      ...snapshot.versionsOf(requested.group, requested.resource),
      ...declared,
    ]);
    return [...versions].flatMap((other) => {
      if (other === own) return [];
      const { type, subresources = [] } = other;
      const kind =
        subresource === '' ? type : subresources.find(({ name }) => name === subresource)?.kind;
      return kind === undefined ? [] : [{ resource: type, kind }];
    });
  }

  /**
   * Resolves with the objects in the version, in their wire form, as policies see them. Rejects
   * with an Error if there is no such version.
   */
  async inVersion(kind: GroupVersionKind): Promise<VersionedObjects> {
    const { kind: own, object, oldObject, connectOptions } = this.attributes;
    const { snapshot } = this;
    const { scheme } = this.#services;
    const convert = async (value: KubeObject | undefined): Promise<KubeObject | undefined> =>
      value === undefined ? undefined : convertVersion({ scheme, snapshot }, value, own, kind);
    const codec = findCodec(scheme, snapshot, kind);
    const converted = await convert(object);
    const shown =
      converted === undefined || codec === undefined ? converted : codec.wireForm(converted);
    return { kind, object: shown ?? connectOptions?.(), oldObject: await convert(oldObject) };
  }
}
