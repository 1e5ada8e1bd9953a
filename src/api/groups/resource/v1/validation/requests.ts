// Validation of a claim's requests, constraints and configuration; device classes share it.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach } from '#api/groups/core/v1/validation/common.ts';
import { isExtendedResource } from '#api/groups/core/v1/validation/resources.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as resource from '../types.ts';
import {
  driverName,
  fullyQualifiedName,
  items,
  label,
  rawObject,
  set,
  toleration,
} from './common.ts';
import { selectorExpression } from './selectors.ts';

type DeviceClaim = Immutable<resource.DeviceClaim>;
type DeviceRequest = Immutable<resource.DeviceRequest>;
type AnyRequest = Immutable<resource.ExactDeviceRequest | resource.DeviceSubRequest>;
type Selector = Immutable<resource.DeviceSelector>;
type Configuration = Immutable<resource.DeviceConfiguration>;

const MAX_REQUESTS = 32;
export const MAX_CONFIGS = 32;
const MAX_CONSTRAINTS = 32;
const MAX_SELECTORS = 32;
const MAX_ALTERNATIVES = 8;
const MAX_PARAMETERS = 10 * 1024;
const ONE_OF = 'exactly one of `exactly` or `firstAvailable` is required';
const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/** The names of alternatives for each request of a claim. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>;

export function requestNames({ requests }: DeviceClaim): RequestNames {
  return new Map(
    (requests ?? []).map(({ name, firstAvailable = [] }) => [
      name,
      new Set(firstAvailable.map((each) => each.name)),
    ]),
  );
}

export function deviceClaim(claim: DeviceClaim, at: FieldPath): FieldErrorList {
  const names = requestNames(claim);
  return [
    ...set(
      claim.requests ?? [],
      MAX_REQUESTS,
      deviceRequest,
      ({ name }) => name,
      at.child('requests'),
    ),
    ...items(
      claim.constraints ?? [],
      MAX_CONSTRAINTS,
      (constraint, path) => deviceConstraint(constraint, names, path),
      at.child('constraints'),
    ),
    ...items(
      claim.config ?? [],
      MAX_CONFIGS,
      (config, path) => [
        ...requestReferences(config.requests, names, path.child('requests')),
        ...deviceConfiguration(config, path),
      ],
      at.child('config'),
    ),
  ];
}

function deviceRequest(
  { name, exactly, firstAvailable = [] }: DeviceRequest,
  at: FieldPath,
): FieldErrorList {
  const errors = label(name, at.child('name'));
  if (firstAvailable.length === 0 && exactly === undefined)
    return [...errors, field.required(at, ONE_OF)];
  if (exactly === undefined) {
    const rule = (each: Immutable<resource.DeviceSubRequest>, path: FieldPath): FieldErrorList => [
      ...label(each.name, path.child('name')),
      ...requestRules(each, path),
    ];
    return [
      ...errors,
      ...set(
        firstAvailable,
        MAX_ALTERNATIVES,
        rule,
        (each) => each.name,
        at.child('firstAvailable'),
      ),
    ];
  }
  if (firstAvailable.length > 0)
    return [...errors, field.invalid(at, null, `${ONE_OF}, but multiple fields are set`)];
  return [...errors, ...requestRules(exactly, at.child('exactly'))];
}

function requestRules(request: AnyRequest, at: FieldPath): FieldErrorList {
  const { deviceClassName: className, allocationMode = '', count = 0, tolerations = [] } = request;
  const path = at.child('deviceClassName');
  return [
    ...(className === ''
      ? [field.required(path)]
      : invalidEach(path, className, validation.isDNS1123Subdomain(className))),
    ...selectors(request.selectors ?? [], at.child('selectors')),
    ...allocation(allocationMode, count, at),
    ...tolerations.flatMap((each, index) => toleration(each, at.child('tolerations').index(index))),
  ];
}

function allocation(mode: string, count: number, at: FieldPath): FieldErrorList {
  switch (mode) {
    case 'All':
      if (count === 0) return [];
      return [
        field.invalid(
          at.child('count'),
          count,
          "must not be specified when allocationMode is 'All'",
        ),
      ];
    case 'ExactCount':
      return count > 0
        ? []
        : [field.invalid(at.child('count'), count, 'must be greater than zero')];
    default:
      return [field.notSupported(at.child('allocationMode'), mode, ['All', 'ExactCount'])];
  }
}

function selectors(list: readonly Selector[], at: FieldPath): FieldErrorList {
  return items(
    list,
    MAX_SELECTORS,
    ({ cel }, path) =>
      cel === undefined
        ? [field.required(path.child('cel'))]
        : selectorExpression(cel.expression, path.child('cel', 'expression')),
    at,
  );
}

function deviceConstraint(
  constraint: Immutable<resource.DeviceConstraint>,
  names: RequestNames,
  at: FieldPath,
): FieldErrorList {
  const { requests, matchAttribute, distinctAttribute } = constraint;
  const errors = requestReferences(requests, names, at.child('requests'));
  if (matchAttribute !== undefined)
    return [...errors, ...fullyQualifiedName(matchAttribute, at.child('matchAttribute'))];
  if (distinctAttribute !== undefined) {
    return [...errors, ...fullyQualifiedName(distinctAttribute, at.child('distinctAttribute'))];
  }
  // As in upstream, the end of the message contradicts the error.
  const message =
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [...errors, field.required(at, message)];
}

export function requestReferences(
  list: readonly string[] | undefined,
  names: RequestNames,
  at: FieldPath,
): FieldErrorList {
  return set(
    list ?? [],
    MAX_REQUESTS,
    (name, path) => requestReference(name, names, path),
    (name) => name,
    at,
  );
}

export function requestReference(name: string, names: RequestNames, at: FieldPath): FieldErrorList {
  const segments = name.split('/');
  if (segments.length > 2) return [field.invalid(at, name, NO_REQUEST)];
  const [request = '', alternative] = segments;
  const alternatives = names.get(request);
  const isKnown =
    alternatives !== undefined && (alternative === undefined || alternatives.has(alternative));
  return [
    ...segments.flatMap((segment) => label(segment, at)),
    ...(isKnown ? [] : [field.invalid(at, name, NO_REQUEST)]),
  ];
}

export function deviceConfiguration({ opaque }: Configuration, at: FieldPath): FieldErrorList {
  if (opaque === undefined) return [field.required(at.child('opaque'))];
  const path = at.child('opaque');
  return [
    ...driverName(opaque.driver, path.child('driver')),
    ...rawObject(opaque.parameters, MAX_PARAMETERS, path.child('parameters')),
  ];
}

/** Validates a class. `old`: absent on create. */
export function validateDeviceClass(
  { spec }: Immutable<resource.DeviceClass>,
  old?: Immutable<resource.DeviceClass>,
): FieldErrorList {
  const at = field.path('spec');
  const { selectors: chosen = [], config = [], extendedResourceName: name } = spec;
  // Configuration that was accepted before stays valid, also with lower limits.
  const sameConfig = old !== undefined && semanticEqual(config, old.spec.config);
  return [
    ...selectors(chosen, at.child('selectors')),
    ...(sameConfig ? [] : items(config, MAX_CONFIGS, deviceConfiguration, at.child('config'))),
    ...(name === undefined || isExtendedResource(name)
      ? []
      : [
          field.invalid(
            at.child('extendedResourceName'),
            name,
            'must be a valid extended resource name',
          ),
        ]),
  ];
}
