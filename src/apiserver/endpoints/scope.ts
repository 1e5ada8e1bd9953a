// The scope of an endpoint: a resource or subresource in one version.

import type { Authorizer } from '../authorization/authorizer.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import {
  fieldElement,
  FieldManager,
  FieldSet,
  validateTyped,
  type Versions,
} from '#api/machinery/managed-fields/index.ts';
import { apiVersionOf, type Scheme } from '#api/machinery/scheme.ts';
import { andThen } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import type { AdmissionAttributes, Operation } from '../admission/plugin.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { codecOf, findCodec, subresourceCodec } from '../catalog/codec.ts';
import type { Kind, Subresource } from '../catalog/kind.ts';
import { convertObjects, type ObjectConverter } from '../registry/object-converter.ts';
import type { Rest } from '../registry/rest.ts';
import { metadataFields, type SelectableFields } from '../registry/selectable-fields.ts';
import type { RequestContext } from '../registry/strategy.ts';
import type { TableConvertor } from '../tables/table.ts';
import type { ApiRequest, RequestAudit, UserInfo } from '../request.ts';
import type { SelectorConfig } from './query-options.ts';

export interface EndpointServices {
  readonly scheme: Scheme;
  readonly catalog: Catalog;
  readonly admission: AdmissionChain;
  /** Asked again by updates that create an object. */
  readonly authorizer: Pick<Authorizer, 'authorize'>;
  readonly clock: Clock;
  /** The minimum duration, in ms, of a watch without a timeout; the maximum is twice that. */
  readonly minWatchTimeoutMs: number;
  /** Returns a random number in [0, 1). */
  readonly random: { float(): number };
}

export interface Scope {
  readonly services: EndpointServices;
  readonly type: ResourceType;
  /** The name of the subresource; '' for the resource itself. */
  readonly subresource: string;
  readonly kind: GroupVersionKind;
  /** The codec of the objects that the endpoint takes and returns. */
  readonly codec: ObjectCodec;
  readonly listKind: string;
  readonly rest: Rest;
  readonly selectableFields: SelectableFields;
  readonly table: TableConvertor | undefined;
  readonly metadataOf: Kind['metadataOf'];
  readonly createCode: number;
  /** Other versions of the resource's kind. */
  readonly otherVersions: readonly GroupVersionKind[];
  /** Converts between the versions. */
  readonly converter: ObjectConverter | undefined;
}

export function resourceScope(services: EndpointServices, served: Kind): Scope {
  const { type } = served;
  return {
    services,
    type,
    subresource: '',
    kind: { group: type.group, version: type.version, kind: type.kind },
    codec: codecOf(services.scheme, served),
    listKind: served.listKind ?? `${type.kind}List`,
    rest: served.rest,
    selectableFields: served.selectableFields ?? metadataFields,
    table: served.table,
    metadataOf: served.metadataOf,
    createCode: served.createCode ?? 201,
    otherVersions: served.otherVersions ?? [],
    converter: served.converter,
  };
}

export function subresourceScope(
  services: EndpointServices,
  served: Kind,
  subresource: Subresource,
): Scope {
  // A view of the whole object, such as status.
  const isView = subresource.kind.kind === served.type.kind;
  return {
    services,
    type: served.type,
    subresource: subresource.name,
    kind: subresource.kind,
    codec: subresourceCodec(services.scheme, served, subresource),
    listKind: `${subresource.kind.kind}List`,
    rest: subresource.rest,
    selectableFields: metadataFields,
    table: subresource.table ?? (isView ? served.table : undefined),
    metadataOf: isView ? served.metadataOf : undefined,
    createCode: subresource.createCode ?? 201,
    otherVersions: isView ? (served.otherVersions ?? []) : [],
    converter: served.converter,
  };
}

/** Field managers, created when the first object is written: most endpoints never write any. */
const fieldManagers = new WeakMap<Scope, FieldManager>();

export function fieldManagerOf(scope: Scope): FieldManager {
  let manager = fieldManagers.get(scope);
  if (manager === undefined) {
    const { clock } = scope.services;
    manager = new FieldManager({
      codec: scope.codec,
      subresource: scope.subresource,
      reset: FieldSet.of(...resetFieldsOf(scope).map((path) => path.map(fieldElement))),
      now: () => clock.now(),
      ...(scope.otherVersions.length > 0 && { versions: versionsOf(scope) }),
    });
    fieldManagers.set(scope, manager);
  }
  return manager;
}

function versionsOf({
  codec,
  otherVersions,
  converter,
  services: { scheme, catalog },
}: Scope): Versions {
  // As in upstream, owners in another group are forgotten: a write of an event through one group
  // ends the ownership of fields that were written through the other one.
  const ofGroup = otherVersions.filter(({ group }) => group === codec.kind.group);
  const kinds = new Map([codec.kind, ...ofGroup].map((kind) => [apiVersionOf(kind), kind]));
  // Another version may be installed later.
  const codecIn = (apiVersion: string): ObjectCodec | undefined => {
    const kind = kinds.get(apiVersion);
    if (kind === undefined || kind === codec.kind) return kind && codec;
    return findCodec(scheme, catalog.snapshot(), kind);
  };
  return {
    typeOf: (apiVersion) => codecIn(apiVersion)?.mergeType,
    convert: (values, from, to) => {
      // Parts of an object in managed fields may lack kind and apiVersion.
      const objects = values.map((value) => ({
        ...(value as KubeObject),
        kind: codec.kind.kind,
        apiVersion: from,
      }));
      const converted = convertObjects(converter, objects, to);
      if (codec.isUntyped !== true) return converted;
      // With the strategy None, versions of a custom resource may still have different schemas.
      const type = codecIn(to)?.mergeType;
      return andThen(converted, (objects) => {
        if (type !== undefined) for (const object of objects) validateTyped(type, object);
        return objects;
      });
    },
  };
}

function resetFieldsOf({ rest, type, subresource }: Scope): readonly (readonly string[])[] {
  if (rest.resetFields !== undefined) return rest.resetFields;
  if (subresource === 'status') return [['spec']];
  return subresource === '' && type.subresources?.includes('status') === true ? [['status']] : [];
}

/**
 * Returns the selectors that lists of the scope may have. `name`: restricts the list to that
 * object.
 */
export function selectorsOf(scope: Scope, name = ''): SelectorConfig {
  return { selectableFields: scope.selectableFields, name };
}

/** Returns the namespace of a request; '' for cluster-scoped resources, whatever the path is. */
export function namespaceOf(scope: Scope, request: ApiRequest): string {
  return scope.type.namespaced ? request.info.namespace : '';
}

/** The request context for the registry. */
export class ScopedContext implements RequestContext {
  readonly namespace: string;
  readonly user: UserInfo;
  readonly warnings: string[];
  readonly #request: ApiRequest;

  constructor(scope: Scope, request: ApiRequest) {
    this.namespace = namespaceOf(scope, request);
    this.user = request.user!;
    this.warnings = request.warnings;
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get verb(): string {
    return this.#request.info.verb;
  }

  get audit(): RequestAudit | undefined {
    return this.#request.audit;
  }
}

/**
 * Returns the admission attributes of a write. `object`: the new state; `oldObject`: the stored
 * one.
 */
export function admissionAttributes<O extends KubeObject | undefined>(
  scope: Scope,
  request: ApiRequest,
  operation: Operation,
  name: string,
  dryRun: boolean,
  object: O,
  oldObject?: KubeObject,
): AdmissionAttributes & { readonly object: O } {
  // Every field is present from the start. Adding fields later would be slower, and would give
  // objects different shapes.
  return {
    operation,
    kind: scope.kind,
    resource: scope.type,
    subresource: scope.subresource,
    namespace: namespaceOf(scope, request),
    name,
    object,
    oldObject,
    deleteOptions: undefined,
    connectOptions: undefined,
    dryRun,
    query: request.query,
    user: request.user!,
    warnings: request.warnings,
    reinvocation: undefined,
    caller: request,
  };
}
