// One request as policies see it: what is asked, the versions that it may be looked at in, its namespace. Whatever takes work is
// done when a policy asks for it, and once.

import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { Namespace } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes } from '../plugin.ts';
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
  readonly #services: PolicyServices;
  #namespaceObject: Promise<Immutable<Namespace> | undefined> | undefined;
  #equivalents: readonly ResourceAndKind[] | undefined;

  constructor(attributes: AdmissionAttributes, services: PolicyServices) {
    this.attributes = attributes;
    this.#services = services;
    const { namespace, name, object } = attributes;
    this.namespace = this.isNamespace && namespace === '' ? name || (object?.metadata.name ?? '') : namespace;
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
    const { resource: asked, subresource } = this.attributes;
    return this.#services.served().flatMap(({ type, subresources = [] }) => {
      if (storedAs(type) !== storedAs(asked) || (type.group === asked.group && type.version === asked.version)) return [];
      const kind = subresource === '' ? type : subresources.find(({ name }) => name === subresource)?.kind;
      return kind === undefined ? [] : [{ resource: type, kind }];
    });
  }

  /** Throws an Error if the objects have no such version. */
  inVersion(kind: GroupVersionKind): VersionedObjects {
    const { kind: own, object, oldObject, connectOptions } = this.attributes;
    const { scheme } = this.#services;
    const convert = (value: KubeObject | undefined): KubeObject | undefined =>
      value === undefined ? undefined : scheme.convert<KubeObject & Record<string, unknown>>(value, own, kind);
    return { kind, object: convert(object) ?? connectOptions?.(), oldObject: convert(oldObject) };
  }
}

/** Events have two groups. */
function storedAs({ group, resource }: { readonly group: string; readonly resource: string }): string {
  return `${group === 'events.k8s.io' ? '' : group}/${resource}`;
}
