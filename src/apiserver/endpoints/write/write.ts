// The parts that all writes of an object share: reading it from the request, its managed fields,
// admission, and the write itself.

import { withoutNewTimes } from '#api/machinery/managed-fields/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { deepEqual, isPlainObject, semanticEqual } from '#machinery/deep.ts';
import { isLarge, nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import type { AdmissionAttributes, Operation } from '../../admission/plugin.ts';
import { forbidden } from '../../authorization/forbidden.ts';
import { keepForUpdate } from '../../registry/metadata.ts';
import type { ObjectUpdate, Rest, UpdateOptions } from '../../registry/rest.ts';
import type { ApiRequest, ApiResponse } from '../../request.ts';
import { decodeBody, identified, parseBody } from '../body.ts';
import { managerOf } from '../manager-name.ts';
import type { Negotiated } from '../negotiation.ts';
import type { WriteQuery } from '../query-options.ts';
import { objectResponse } from '../representation.ts';
import { admissionAttributes, fieldManagerOf, type Scope, ScopedContext } from '../scope.ts';
import { checkedMetadata } from './admitted-metadata.ts';
import { recordObject } from './audited-object.ts';
import { between, inTurns } from './large-objects.ts';
import { checkName, withNamespace } from './request-object.ts';

/** An object that a client wants to be stored. */
export interface Wanted {
  readonly object: KubeObject;
  /** Whether the steps of the write should each have a turn of the event loop. */
  readonly large: boolean;
  /** Whether an empty list of managed fields was given, which resets all ownership. */
  readonly resetsOwners: boolean;
}

/** The write of one request. */
export class Write {
  readonly scope: Scope;
  readonly request: ApiRequest;
  readonly query: WriteQuery;

  constructor(scope: Scope, request: ApiRequest, query: WriteQuery) {
    this.scope = scope;
    this.request = request;
    this.query = query;
  }

  /** Reads the object in the body, and records it in the audit log. Throws StatusError (400, …). */
  async receive(): Promise<Wanted> {
    const { scope, request, query } = this;
    const { codec, kind, services } = scope;
    const body = await parseBody(request, kind.kind, services.clock, codec.keepsBigints);
    const large = body.large === true;
    if (large) await nextTurn();
    const withoutDefaults = decodeBody(request, body, scope, query.fieldValidation);
    if (large) await nextTurn();
    const object = identified(withoutDefaults, codec);
    if (request.audit !== undefined) await recordObject(request.audit, scope, object, large);
    if (large) await nextTurn();
    return { object, large, resetsOwners: emptiesManagedFields(body.value) };
  }

  /**
   * Returns the object with the name and the namespace of the path. Throws BadRequest if it has
   * others.
   */
  named(object: KubeObject): KubeObject {
    return checkName(this.request, withNamespace(this.scope, this.request, object));
  }

  /** Returns the object with its managed fields after this write. */
  owned(current: KubeObject | undefined, wanted: Wanted): Awaitable<KubeObject> {
    const { scope, request, query } = this;
    const fieldManager = fieldManagerOf(scope);
    const manager = managerOf(request, query);
    const options = { reset: wanted.resetsOwners };
    if (!wanted.large) return fieldManager.update(current, wanted.object, manager, options);
    return runStepsInTurns(fieldManager.updateInSteps(current, wanted.object, manager, options));
  }

  /** Returns the object after mutating admission. `current`: undefined if it is created. */
  admitted(current: KubeObject | undefined, object: KubeObject): Awaitable<KubeObject> {
    const { scope, request } = this;
    const operation = current === undefined ? 'CREATE' : 'UPDATE';
    const attributes = this.attributes(operation, request.info.name, object, current);
    return andThen(scope.services.admission.admit(attributes), (admitted) => {
      const checked = checkedMetadata(object, admitted, request.warnings);
      if (current === undefined) return checked;
      // As in Go, a missing list or map of a typed object equals an empty one.
      const equal = scope.codec.isUntyped === true ? deepEqual : semanticEqual;
      return withoutNewTimes(checked, current, equal, keepForUpdate);
    });
  }

  /** Returns the object that is stored in the place of `current`, before validation. */
  replacement(current: KubeObject | undefined, wanted: Wanted): Awaitable<KubeObject> {
    return andThen(this.owned(current, wanted), (owned) =>
      inTurns(wanted.large, () => this.admitted(current, owned)),
    );
  }

  /** Writes an object that may exist, and returns the response. */
  async store(
    negotiated: Negotiated,
    update: ObjectUpdate,
    options: UpdateOptions = this.updateOptions(),
  ): Promise<ApiResponse> {
    const { scope, request } = this;
    const rest = scope.rest as Required<Pick<Rest, 'update'>>;
    const context = new ScopedContext(scope, request);
    const { object, created } = await rest.update(context, request.info.name, update, options);
    return objectResponse(scope, request, negotiated, object, created ? 201 : 200);
  }

  updateOptions(): UpdateOptions {
    const { scope, request, query } = this;
    const { name } = request.info;
    return {
      dryRun: query.dryRun,
      fieldManager: query.fieldManager,
      storedForm: (object) => scope.codec.storedForm(object),
      validate: (object, old) =>
        this.validate('UPDATE', name, object as KubeObject, isLarge(object), old as KubeObject),
      validateCreate: async (object) => {
        await this.#authorizeCreation();
        await this.validate('CREATE', name, object as KubeObject, isLarge(object));
      },
    };
  }

  /** Asks validating admission. Throws StatusError if it rejects the object. */
  validate(
    operation: Operation,
    name: string,
    object: KubeObject,
    large: boolean,
    old?: KubeObject,
  ): Awaitable<void> {
    const attributes = this.attributes(operation, name, object, old);
    return between(large, () => this.scope.services.admission.validate(attributes));
  }

  attributes(
    operation: Operation,
    name: string,
    object: KubeObject,
    old?: KubeObject,
  ): AdmissionAttributes & { readonly object: KubeObject } {
    const { scope, request, query } = this;
    return admissionAttributes(scope, request, operation, name, query.dryRun, object, old);
  }

  /** Throws StatusError (403) unless the user may create the object that an update would create. */
  async #authorizeCreation(): Promise<void> {
    const { scope, request } = this;
    const { apiGroup, apiVersion, namespace, resource, subresource, name, path } = request.info;
    const target = { apiGroup, apiVersion, namespace, resource, subresource, name, path };
    const attributes = { ...target, user: request.user!, isResourceRequest: true, verb: 'create' };
    const { decision, reason, error } = await scope.services.authorizer.authorize(
      attributes,
      request,
    );
    if (decision === 'allow') return;
    throw error === undefined ? forbidden(attributes, reason) : apierrors.internalError(error);
  }
}

/** Reports whether a body has an empty list of managed fields. */
export function emptiesManagedFields(body: unknown): boolean {
  const metadata = isPlainObject(body) ? body['metadata'] : undefined;
  const entries = isPlainObject(metadata) ? metadata['managedFields'] : undefined;
  return Array.isArray(entries) && entries.length === 0;
}
