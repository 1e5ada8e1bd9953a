// One request as policies see it: what is asked, the versions that it may be looked at in, its namespace. Whatever takes work is
// done when a policy asks for it, and once.

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

/** A resource, and the kind of what is read and written there. */
export interface ResourceAndKind {
  readonly resource: GroupVersionResource;
  readonly kind: GroupVersionKind;
}

/** The objects of a request in one version. */
export interface VersionedObjects {
  readonly kind: GroupVersionKind;
  /** Of a connection: what is asked for. */
  readonly object: object | undefined;
  readonly oldObject: KubeObject | undefined;
}

export class PolicyRequest {
  readonly attributes: AdmissionAttributes;
  /** Of namespaces, their own name. '': it is about something of the whole cluster. */
  readonly namespace: string;
  /** The kinds that there are for this request. */
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

  /** Whether it is about a namespace, or a subresource of one. */
  get isNamespace(): boolean {
    const { group, resource } = this.attributes.resource;
    return group === '' && resource === 'namespaces';
  }

  /** What was asked for, as it was asked. */
  get requested(): ResourceAndKind {
    const { resource, kind } = this.attributes;
    return { resource, kind };
  }

  /** The namespace that the request names; undefined if there is none of that name. */
  findNamespace(): Promise<Immutable<Namespace> | undefined> {
    this.#namespaceObject ??= this.#lookUpNamespace();
    return this.#namespaceObject;
  }

  async #lookUpNamespace(): Promise<Immutable<Namespace> | undefined> {
    return this.#services.find<Immutable<Namespace>>('', 'namespaces', '', this.namespace);
  }

  /** The same objects under other groups and versions. */
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

  /** Resolves with the objects in their wire form, as policies see them. Rejects with an Error if they have no such version. */
  async inVersion(kind: GroupVersionKind): Promise<VersionedObjects> {
    const { kind: own, object, oldObject, connectOptions } = this.attributes;
    const { snapshot } = this;
    const { scheme } = this.#services;
    const convert = async (value: KubeObject | undefined): Promise<KubeObject | undefined> =>
      value === undefined ? undefined : convertVersion({ scheme, snapshot }, value, own, kind);
    const codec = findCodec(scheme, snapshot, kind);
    const given = await convert(object);
    const shown = given === undefined || codec === undefined ? given : codec.wireForm(given);
    return { kind, object: shown ?? connectOptions?.(), oldObject: await convert(oldObject) };
  }
}
