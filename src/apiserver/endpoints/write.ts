// The verbs create, update and patch.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import { withoutNewTimes } from '#api/machinery/managed-fields/index.ts';
import { notRegistered, parseApiVersion } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { deepEqual, isPlainObject, semanticEqual } from '#machinery/deep.ts';
import { FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import { goValueText } from '#machinery/text/go-value.ts';
import { isLarge, nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import { forbidden } from '../authorization/forbidden.ts';
import { keepForUpdate } from '../registry/metadata.ts';
import type { CreateOptions, ObjectUpdate, Rest, UpdateOptions } from '../registry/rest.ts';
import { ObjectTooLarge } from '../registry/storage-errors.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { checkedMetadata, withoutDuplicateOwners } from './admitted-metadata.ts';
import { recordObject } from './audited-object.ts';
import { decodeBody, identified, internalPackage, parseBody } from './body.ts';
import { yamlProblems } from './strict-problems.ts';
import { managerOf } from './manager-name.ts';
import { negotiate, type Negotiated } from './negotiation.ts';
import {
  checkPatchType,
  isApplyPatch,
  type Patch,
  readApplyConfiguration,
  readPatch,
} from './patching.ts';
import { parsePatchQuery, parseWriteQuery, type WriteQuery } from './query-options.ts';
import { notServed } from './read.ts';
import { objectResponse } from './representation.ts';
import {
  admissionAttributes,
  fieldManagerOf,
  namespaceOf,
  type Scope,
  ScopedContext,
} from './scope.ts';

export async function handleCreate(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest, services } = scope;
  if (rest.create === undefined) throw notServed();
  const negotiated = negotiate(request, {
    transforms: true,
    tables: rest.get !== undefined,
    collection: true,
    codec: scope.codec,
  });
  const query = parseWriteQuery(request.query, 'CreateOptions');
  const { dryRun, fieldManager, fieldValidation } = query;
  const parsed = parseBody(
    request,
    scope.kind.kind,
    scope.services.clock,
    scope.codec.keepsBigints,
  );
  const body = parsed instanceof Promise ? await parsed : parsed;
  if (body.large === true) await nextTurn();
  const withoutDefaults = decodeBody(request, body, scope, fieldValidation);
  if (body.large === true) await nextTurn();
  const decoded = identified(withoutDefaults, scope.codec);
  if (request.audit !== undefined)
    await recordObject(request.audit, scope, decoded, body.large === true);
  if (body.large === true) await nextTurn();
  // The name in the path of a subresource is the parent's.
  const parent = scope.subresource === '' ? '' : request.info.name;
  const owned = managed(
    scope,
    request,
    query,
    undefined,
    withoutDuplicateOwners(
      withoutDeletion(withNamespace(scope, request, decoded)),
      request.warnings,
      false,
    ),
    emptiesManagedFields(body.value),
    body.large === true,
  );
  const ownedObject = owned instanceof Promise ? await owned : owned;
  if (body.large === true) await nextTurn();
  const givenName = parent === '' ? (ownedObject.metadata.name ?? '') : parent;
  const admitted = services.admission.admit(
    admissionAttributes(scope, request, 'CREATE', givenName, dryRun, ownedObject),
  );
  const checked = checkedMetadata(
    ownedObject,
    admitted instanceof Promise ? await admitted : admitted,
    request.warnings,
  );
  // A review is not stored, and its rules do not expect empty values.
  const object = rest.get === undefined ? scope.codec.wireForm(checked) : checked;
  if (body.large === true) await nextTurn();
  const options: CreateOptions = {
    dryRun,
    fieldManager,
    storedForm: (admittedObject) => scope.codec.storedForm(admittedObject),
    large: body.large === true,
    validate: (candidate) => {
      const candidateObject = candidate as KubeObject;
      // A generated name is final by now.
      const name = givenName === '' ? (candidateObject.metadata.name ?? '') : givenName;
      const attributes = admissionAttributes(
        scope,
        request,
        'CREATE',
        name,
        dryRun,
        candidateObject,
      );
      return between(body.large === true, () => services.admission.validate(attributes));
    },
  };
  const create = rest.create.bind(rest);
  const created = await smallerIfTooLarge((smaller) =>
    create(new ScopedContext(scope, request), parent, smaller(object), options),
  );
  return objectResponse(scope, request, negotiated, created, scope.createCode);
}

export async function handleUpdate(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest } = scope;
  if (rest.update === undefined) throw notServed();
  const negotiated = negotiate(request, { transforms: true, codec: scope.codec });
  const query = parseWriteQuery(request.query, 'UpdateOptions');
  const { name } = request.info;
  const parsed = parseBody(
    request,
    scope.kind.kind,
    scope.services.clock,
    scope.codec.keepsBigints,
  );
  const body = parsed instanceof Promise ? await parsed : parsed;
  if (body.large === true) await nextTurn();
  const withoutDefaults = decodeBody(request, body, scope, query.fieldValidation);
  if (body.large === true) await nextTurn();
  const decoded = identified(withoutDefaults, scope.codec);
  if (request.audit !== undefined)
    await recordObject(request.audit, scope, decoded, body.large === true);
  const named = checkName(request, withNamespace(scope, request, decoded));
  const object = withoutDuplicateOwners(named, request.warnings, false);
  const { uid } = object.metadata;
  const reset = emptiesManagedFields(body.value);
  const updateWith = (smaller: Smaller): ObjectUpdate => ({
    apply: (current) => {
      const large = body.large === true || isLarge(current);
      const finish = (): Awaitable<KubeObject> =>
        andThen(managed(scope, request, query, current, object, reset, large), (owned) =>
          inTurns(large, () =>
            andThen(admitUpdate(scope, request, query, owned, current), smaller),
          ),
        );
      return inTurns(large, finish);
    },
    // An object with a uid refers to that object, not to another one of the same name.
    ...(uid !== undefined && uid !== '' && { preconditions: { uid } }),
  });
  const save = rest.update.bind(rest);
  const options = updateOptions(scope, request, query);
  const updated = await smallerIfTooLarge((smaller) =>
    save(new ScopedContext(scope, request), name, updateWith(smaller), options),
  );
  return objectResponse(scope, request, negotiated, updated.object, updated.created ? 201 : 200);
}

export async function handlePatch(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest } = scope;
  if (rest.update === undefined || rest.get === undefined) throw notServed();
  checkPatchType(request, scope.codec);
  const negotiated = negotiate(request, { transforms: true, codec: scope.codec });
  const apply = isApplyPatch(request);
  const query = parsePatchQuery(request.query, { apply });
  if (apply) return handleApply(scope, request, negotiated, query);
  const patch = await readPatch(request, scope.codec);
  const warnings = request.warnings.length;
  const updateWith = (smaller: Smaller): ObjectUpdate => ({
    apply: (current) => {
      if (current === undefined) throw apierrors.notFound(scope.type, request.info.name);
      // Warnings of an attempt with a conflict are not repeated.
      request.warnings.length = warnings;
      const decode = (raw: Record<string, unknown>): KubeObject => {
        const decoded = decodePatched(scope, request, query, raw, current, patch);
        return checkName(request, withNamespace(scope, request, decoded));
      };
      const finish = (
        raw: Record<string, unknown>,
        patched: KubeObject,
        large: boolean,
      ): Awaitable<KubeObject> => {
        const object = managed(
          scope,
          request,
          query,
          current,
          patched,
          emptiesManagedFields(raw),
          large,
        );
        return andThen(object, (owned) =>
          inTurns(large, () =>
            andThen(admitUpdate(scope, request, query, owned, current), smaller),
          ),
        );
      };
      const inSteps = async (raw: Record<string, unknown>): Promise<KubeObject> => {
        await nextTurn();
        const patched = decode(raw);
        await nextTurn();
        return finish(raw, patched, true);
      };
      const patched = inTurns(patch.large, () =>
        patch.apply(current as unknown as Record<string, unknown>),
      );
      return andThen(patched, (raw) =>
        isLarge(raw) ? inSteps(raw) : finish(raw, decode(raw), false),
      );
    },
  });
  const save = rest.update.bind(rest);
  const options = { ...updateOptions(scope, request, query), forceAllowCreate: false };
  const updated = await smallerIfTooLarge((smaller) =>
    save(new ScopedContext(scope, request), request.info.name, updateWith(smaller), options),
  );
  return objectResponse(scope, request, negotiated, updated.object, updated.created ? 201 : 200);
}

/** Handles server-side apply, the only patch that creates missing objects. */
async function handleApply(
  scope: Scope,
  request: ApiRequest,
  negotiated: Negotiated,
  query: WriteQuery,
): Promise<ApiResponse> {
  const { name } = request.info;
  const config = await readApplyConfiguration(
    request,
    scope.services.clock,
    scope.codec.keepsBigints,
  );
  request.audit?.requestPatch(config.value);
  const warnings = request.warnings.length;
  const update: ObjectUpdate = {
    apply: (current) => {
      request.warnings.length = warnings;
      const fieldManager = fieldManagerOf(scope);
      if (!isLarge(config.value) && !isLarge(current)) {
        const applied = fieldManager.apply(current, config.value, query.fieldManager, query.force);
        return andThen(applied, (raw) => finish(current, raw, false));
      }
      return nextTurn()
        .then(() =>
          runStepsInTurns(
            fieldManager.applyInSteps(current, config.value, query.fieldManager, query.force),
          ),
        )
        .then(async (raw) => (await nextTurn(), finish(current, raw, true)));
    },
  };
  const finish = (
    current: KubeObject | undefined,
    raw: Record<string, unknown>,
    large: boolean,
  ): Awaitable<KubeObject> => {
    if (config.strictError !== undefined) {
      if (query.fieldValidation === 'Strict') {
        throw apierrors.badRequest(
          `error strict decoding YAML: error converting YAML to JSON: ${config.strictError}`,
        );
      }
      if (query.fieldValidation === 'Warn')
        request.warnings.push(...yamlProblems(config.strictError, 'Warn'));
    }
    const decoded = decodePatched(scope, request, query, raw, current);
    const { uid } = decoded.metadata;
    // This is checked before the name, since a request for one object may omit the name in its
    // body.
    if (current === undefined && uid !== undefined && uid !== '') {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw apierrors.conflict(scope.type, name, why);
    }
    const applied = checkName(request, withNamespace(scope, request, decoded));
    const object = current === undefined ? withoutDeletion(applied) : applied;
    return inTurns(large, () => admitUpdate(scope, request, query, object, current));
  };
  // The parent of a subresource must exist.
  const options = {
    ...updateOptions(scope, request, query),
    forceAllowCreate: scope.subresource === '',
  };
  const rest = scope.rest as Required<Pick<Rest, 'update'>>;
  const updated = await rest.update(new ScopedContext(scope, request), name, update, options);
  return objectResponse(scope, request, negotiated, updated.object, updated.created ? 201 : 200);
}

type Smaller = (object: KubeObject) => KubeObject;

/**
 * Writes an object. If it is too large for the storage, it is written again without its managed
 * fields, which may be larger than the rest, as upstream.
 */
async function smallerIfTooLarge<T>(write: (smaller: Smaller) => Awaitable<T>): Promise<T> {
  try {
    return await write((object) => object);
  } catch (error) {
    if (!(error instanceof ObjectTooLarge)) throw error;
    return write((object) => {
      const { managedFields: _fields, ...metadata } = object.metadata;
      return { ...object, metadata };
    });
  }
}

/** Does the work now, or in the next turn of the event loop if it takes long. */
function inTurns<T>(large: boolean, work: () => Awaitable<T>): Awaitable<T> {
  return large ? nextTurn().then(work) : work();
}

/** Does the same as inTurns, with another turn after the work. */
function between(large: boolean, work: () => Awaitable<void>): Awaitable<void> {
  return large ? nextTurn().then(work).then(nextTurn) : work();
}

/**
 * Returns the object with its managed fields after this write. For a large object this takes
 * several turns of the event loop.
 */
function managed(
  scope: Scope,
  request: ApiRequest,
  query: WriteQuery,
  current: KubeObject | undefined,
  object: KubeObject,
  reset: boolean,
  large: boolean,
): Awaitable<KubeObject> {
  const fieldManager = fieldManagerOf(scope);
  const manager = managerOf(request, query);
  if (!large) return fieldManager.update(current, object, manager, { reset });
  return runStepsInTurns(fieldManager.updateInSteps(current, object, manager, { reset }));
}

/** Reports whether the body has an empty list of managed fields, which resets all ownership. */
function emptiesManagedFields(raw: unknown): boolean {
  const metadata = isPlainObject(raw) ? raw['metadata'] : undefined;
  const entries = isPlainObject(metadata) ? metadata['managedFields'] : undefined;
  return Array.isArray(entries) && entries.length === 0;
}

/** Returns a new object without deletion fields, which clients cannot set. */
function withoutDeletion(object: KubeObject): KubeObject {
  if (
    object.metadata.deletionTimestamp === undefined &&
    object.metadata.deletionGracePeriodSeconds === undefined
  )
    return object;
  const {
    deletionTimestamp: _timestamp,
    deletionGracePeriodSeconds: _seconds,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}

/**
 * Decodes a patched object like a body: it may have unknown fields, and values of wrong types.
 * Metadata that are still those of `current` are not decoded again.
 */
function decodePatched(
  scope: Scope,
  request: ApiRequest,
  query: WriteQuery,
  patched: Record<string, unknown>,
  current: KubeObject | undefined,
  patch?: Patch,
): KubeObject {
  const { kind, codec } = scope;
  const keepsMetadata = current !== undefined && patched['metadata'] === current.metadata;
  const refuse = (why: string): apierrors.StatusError => {
    if (patch === undefined) return apierrors.badRequest(why);
    const shown =
      patch.document === undefined ? stringifyJson(patched) : goValueText(patch.document);
    return apierrors.invalid({ group: '', kind: '' }, '', [
      field.invalid(new FieldPath('patch'), shown, why),
    ]);
  };
  let decoded;
  try {
    if (patch !== undefined && codec.isUntyped === true)
      checkUntypedKind(patched, kind, request.info.name);
    else if (patch !== undefined) checkKind(patched, scope);
    decoded = codec.decode(keepsMetadata ? { ...patched, metadata: undefined } : patched, {
      keepsNulls: patch === undefined,
    });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    // Upstream converts the result of a strategic merge patch, and decodes the result of other
    // patches.
    const converted =
      patch?.document === undefined || error.path === 'kind'
        ? undefined
        : codec.conversionError?.(patched);
    throw refuse(converted ?? error.message);
  }
  const unknown = decoded.unknownFields.map((path) => `unknown field ${quote(path)}`);
  // The result of a strategic merge patch has them sorted, as upstream.
  if (patch?.document !== undefined) unknown.sort();
  const problems = [...(patch?.problems ?? []), ...unknown];
  if (query.fieldValidation === 'Strict' && problems.length > 0)
    throw refuse(`strict decoding error: ${problems.join(', ')}`);
  if (query.fieldValidation === 'Warn') request.warnings.push(...problems);
  const object = keepsMetadata
    ? { ...decoded.object, metadata: { ...current.metadata } }
    : decoded.object;
  return identified(object, codec);
}

/** Throws DecodeError if a patch has changed kind or apiVersion. */
function checkKind(
  patched: Record<string, unknown>,
  { kind: { group, version, kind }, services: { scheme } }: Scope,
): void {
  const expected = group === '' ? version : `${group}/${version}`;
  const { kind: given = kind, apiVersion = expected } = patched;
  if (given === kind && apiVersion === expected) return;
  if (typeof given === 'string' && typeof apiVersion === 'string') {
    const groupVersion = parseApiVersion(apiVersion);
    if (
      groupVersion !== undefined &&
      scheme.codecOf({ ...groupVersion, kind: given }) === undefined
    )
      throw new DecodeError(notRegistered(apiVersion, given), 'kind');
  }
  throw new DecodeError(
    `converting (${String(apiVersion).split('/').at(-1)}.${String(given)}) to ` +
      `(${internalPackage(group)}.${kind}): unknown conversion`,
    'kind',
  );
}

/**
 * Throws StatusError (422) if a patch has changed kind or apiVersion of a custom object, which
 * upstream validates.
 */
function checkUntypedKind(
  patched: Record<string, unknown>,
  { group, version, kind }: Scope['kind'],
  name: string,
): void {
  const expected = `${group}/${version}`;
  const { kind: given, apiVersion } = patched;
  if (typeof given !== 'string' || typeof apiVersion !== 'string') return;
  const errors = [
    ...(given === kind ? [] : [field.invalid(new FieldPath('kind'), given, `must be ${kind}`)]),
    ...(apiVersion === expected
      ? []
      : [field.invalid(new FieldPath('apiVersion'), apiVersion, `must be ${expected}`)]),
  ];
  if (errors.length === 0) return;
  const slash = apiVersion.indexOf('/');
  throw apierrors.invalid(
    { group: slash < 0 ? '' : apiVersion.slice(0, slash), kind: given },
    name,
    errors,
  );
}

function admitUpdate(
  scope: Scope,
  request: ApiRequest,
  query: WriteQuery,
  object: KubeObject,
  current: KubeObject | undefined,
): Awaitable<KubeObject> {
  const operation = current === undefined ? 'CREATE' : 'UPDATE';
  const attributes = admissionAttributes(
    scope,
    request,
    operation,
    request.info.name,
    query.dryRun,
    object,
    current,
  );
  return andThen(scope.services.admission.admit(attributes), (admitted) => {
    const checked = checkedMetadata(object, admitted, request.warnings);
    if (current === undefined) return checked;
    // As in Go, a missing list or map of a typed object equals an empty one.
    const equal = scope.codec.isUntyped === true ? deepEqual : semanticEqual;
    return withoutNewTimes(checked, current, equal, keepForUpdate);
  });
}

/** Throws StatusError (403) unless the user may create the object that an update would create. */
async function authorizeCreation({ services }: Scope, request: ApiRequest): Promise<void> {
  const { apiGroup, apiVersion, namespace, resource, subresource, name, path } = request.info;
  const target = { apiGroup, apiVersion, namespace, resource, subresource, name, path };
  const attributes = { ...target, user: request.user!, isResourceRequest: true, verb: 'create' };
  const { decision, reason, error } = await services.authorizer.authorize(attributes, request);
  if (decision === 'allow') return;
  throw error === undefined ? forbidden(attributes, reason) : apierrors.internalError(error);
}

function updateOptions(scope: Scope, request: ApiRequest, query: WriteQuery): UpdateOptions {
  const { admission } = scope.services;
  const { name } = request.info;
  return {
    dryRun: query.dryRun,
    fieldManager: query.fieldManager,
    storedForm: (object) => scope.codec.storedForm(object),
    validate: (object, old) => {
      const attributes = admissionAttributes(
        scope,
        request,
        'UPDATE',
        name,
        query.dryRun,
        object as KubeObject,
        old as KubeObject,
      );
      return between(isLarge(object), () => admission.validate(attributes));
    },
    validateCreate: async (object) => {
      await authorizeCreation(scope, request);
      const attributes = admissionAttributes(
        scope,
        request,
        'CREATE',
        name,
        query.dryRun,
        object as KubeObject,
      );
      return between(isLarge(object), () => admission.validate(attributes));
    },
  };
}

/** Throws BadRequest if the object's name is not that of the path. */
function checkName(request: ApiRequest, object: KubeObject): KubeObject {
  const { name } = request.info;
  const ownName = object.metadata.name ?? '';
  if (ownName === '') {
    throw apierrors.badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (ownName !== name) {
    throw apierrors.badRequest(
      `the name of the object (${ownName}) does not match the name on the URL (${name})`,
    );
  }
  return object;
}

/**
 * Sets the object's namespace before admission. Throws BadRequest if it differs from that of the
 * path.
 */
function withNamespace(scope: Scope, request: ApiRequest, object: KubeObject): KubeObject {
  const namespace = namespaceOf(scope, request);
  const ownNamespace = object.metadata.namespace ?? '';
  if (namespace === ownNamespace) return object;
  if (namespace === '') {
    const { namespace: _given, ...metadata } = object.metadata;
    return { ...object, metadata };
  }
  if (ownNamespace !== '') {
    throw apierrors.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  (object.metadata as { namespace?: string }).namespace = namespace;
  return object;
}
