// Validation of resource slices, by which drivers publish devices.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { immutable, invalidEach } from '#api/groups/core/v1/validation/common.ts';
import { nodeSelector } from '#api/groups/core/v1/validation/scheduling.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as resource from '../types.ts';
import { capacityPolicy } from './capacity.ts';
import {
  bindingConditions,
  driverName,
  entries,
  items,
  label,
  MAX_QUALIFIED_NAME,
  poolName,
  qualifiedName,
  requiredLabel,
  set,
  taint,
} from './common.ts';

type ResourceSlice = Immutable<resource.ResourceSlice>;
type Spec = ResourceSlice['spec'];
type Device = Immutable<resource.Device>;
type Attribute = Immutable<resource.DeviceAttribute>;
type Counters = Immutable<resource.CounterSet>['counters'];

const SPEC = field.path('spec');
const MAX_DEVICES = 128;
/** The limit for devices with taints or counters. */
const MAX_DEVICES_WITH_MORE = 64;
const MAX_COUNTER_SETS = 8;
const MAX_COUNTERS = 32;
const MAX_CONSUMED_SETS = 2;
const MAX_ATTRIBUTES = 32;
const MAX_ATTRIBUTE_VALUE = 64;
const MAX_TAINTS = 16;
const UNLIMITED = Number.POSITIVE_INFINITY;
const WHERE =
  'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
const WHERE_DEVICE =
  'exactly one of `nodeName`, `nodeSelector`, ' +
  'or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ' +
  'ResourceSlice spec';
const NOT_PER_DEVICE =
  '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` ' +
  'is set to true in the ResourceSlice spec';
const UNSET_OR_TRUE = 'must be either unset or set to true';
const NUMBER = '(0|[1-9]\\d*)';
const PRERELEASE = '(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)';
const SEMANTIC_VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRERELEASE}(\\.${PRERELEASE})*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?$`,
);

/** Validates a slice. `old`: absent on create. */
export function validateResourceSlice(
  { spec }: ResourceSlice,
  old?: ResourceSlice,
): FieldErrorList {
  const { pool, devices, sharedCounters } = spec;
  const errors = [
    ...driverName(spec.driver, SPEC.child('driver')),
    ...poolName(pool.name, SPEC.child('pool', 'name')),
  ];
  const report = (name: 'resourceSliceCount' | 'generation', message: string): void => {
    errors.push(field.invalid(SPEC.child('pool', name), pool[name], message));
  };
  if (pool.resourceSliceCount <= 0) report('resourceSliceCount', 'must be greater than zero');
  if (pool.generation < 0) report('generation', 'must be greater than or equal to zero');
  if (old !== undefined) {
    const before = old.spec;
    errors.push(
      ...immutable(pool.name, before.pool.name, SPEC.child('pool', 'name'), semanticEqual),
      ...immutable(spec.driver, before.driver, SPEC.child('driver'), semanticEqual),
      ...immutable(spec.nodeName, before.nodeName, SPEC.child('nodeName'), semanticEqual),
    );
  }
  errors.push(...where(spec));
  if (sharedCounters !== undefined && devices !== undefined) {
    errors.push(field.invalid(SPEC, '', 'only one of `sharedCounters` or `devices` is allowed'));
  }
  const hasMore =
    devices?.some(
      ({ taints = [], consumesCounters = [] }) => taints.length > 0 || consumesCounters.length > 0,
    ) === true;
  const former = new Map((old?.spec.devices ?? []).map((device) => [device.name, device]));
  const rule = (each: Device, at: FieldPath): FieldErrorList =>
    deviceRules(each, former.get(each.name), spec, at);
  return [
    ...errors,
    ...set(
      devices ?? [],
      hasMore ? MAX_DEVICES_WITH_MORE : MAX_DEVICES,
      rule,
      ({ name }) => name,
      SPEC.child('devices'),
    ),
    ...set(
      sharedCounters ?? [],
      MAX_COUNTER_SETS,
      ({ name, counters }, at) => [
        ...requiredLabel(name, at.child('name')),
        ...counterRules(counters, at.child('counters')),
      ],
      ({ name }) => name,
      SPEC.child('sharedCounters'),
    ),
  ];
}

/** Validates the node selection. */
function where(spec: Spec): FieldErrorList {
  const errors: FieldErrorList = [];
  const chosen: string[] = [];
  const { nodeName, nodeSelector: selector } = spec;
  if (nodeName === '') {
    errors.push(
      field.invalid(
        SPEC.child('nodeName'),
        nodeName,
        'must be either unset or set to a non-empty string',
      ),
    );
  } else if (nodeName !== undefined) {
    chosen.push('`nodeName`');
    errors.push(
      ...invalidEach(SPEC.child('nodeName'), nodeName, validation.isDNS1123Subdomain(nodeName)),
    );
  }
  if (selector !== undefined) {
    chosen.push('`nodeSelector`');
    errors.push(...nodeSelector(selector, SPEC.child('nodeSelector')));
    const terms = selector.nodeSelectorTerms ?? [];
    if (terms.length !== 1) {
      const at = SPEC.child('nodeSelector', 'nodeSelectorTerms');
      errors.push(
        field.invalid(
          at,
          terms.length === 0 ? null : terms,
          'must have exactly one node selector term',
        ),
      );
    }
  }
  for (const name of ['allNodes', 'perDeviceNodeSelection'] as const) {
    if (spec[name] === true) chosen.push(`\`${name}\``);
    else if (spec[name] === false)
      errors.push(field.invalid(SPEC.child(name), false, UNSET_OR_TRUE));
  }
  if (chosen.length === 0) errors.push(field.required(SPEC, WHERE));
  if (chosen.length > 1) {
    errors.push(
      field.invalid(SPEC, `{${chosen.join(', ')}}`, `${WHERE}, but multiple fields are set`),
    );
  }
  return errors;
}

function deviceRules(
  device: Device,
  old: Device | undefined,
  spec: Spec,
  at: FieldPath,
): FieldErrorList {
  const { attributes = {}, capacity = {}, taints = [], consumesCounters = [] } = device;
  const errors = label(device.name, at.child('name'));
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  if (count > MAX_ATTRIBUTES) {
    const message = `the total number of attributes and capacities must not exceed ${MAX_ATTRIBUTES}`;
    errors.push(field.invalid(at, count, message));
  }
  errors.push(
    ...entries(
      attributes,
      UNLIMITED,
      MAX_QUALIFIED_NAME,
      qualifiedName,
      attributeRules,
      at.child('attributes'),
    ),
  );
  const rule = capacityPolicy(device.allowMultipleAllocations === true);
  errors.push(
    ...entries(capacity, UNLIMITED, MAX_QUALIFIED_NAME, qualifiedName, rule, at.child('capacity')),
  );
  // Unchanged taints are not checked again.
  if (old === undefined || !semanticEqual(old.taints, device.taints)) {
    errors.push(...items(taints, MAX_TAINTS, taint, at.child('taints')));
  }
  return [
    ...errors,
    ...set(
      consumesCounters,
      MAX_CONSUMED_SETS,
      ({ counterSet, counters }, path) => [
        ...requiredLabel(counterSet, path.child('counterSet')),
        ...counterRules(counters, path.child('counters')),
      ],
      ({ counterSet }) => counterSet,
      at.child('consumesCounters'),
    ),
    ...whereDevice(device, spec.perDeviceNodeSelection === true, at),
    ...bindingConditions(device.bindingConditions ?? [], device.bindingFailureConditions ?? [], at),
  ];
}

function counterRules(counters: Counters | undefined, at: FieldPath): FieldErrorList {
  if (Object.keys(counters ?? {}).length === 0) return [field.required(at)];
  return entries(
    counters ?? {},
    MAX_COUNTERS,
    validation.DNS1123_LABEL_MAX_LENGTH,
    label,
    () => [],
    at,
  );
}

function whereDevice(device: Device, perDevice: boolean, at: FieldPath): FieldErrorList {
  const { nodeName, nodeSelector: selector, allNodes } = device;
  if (!perDevice) {
    const isSet = nodeName !== undefined || selector !== undefined || allNodes !== undefined;
    return isSet ? [field.invalid(at, null, NOT_PER_DEVICE)] : [];
  }
  const errors: FieldErrorList = [];
  const chosen: string[] = [];
  if (nodeName === '')
    errors.push(field.invalid(at.child('nodeName'), nodeName, 'must not be empty'));
  else if (nodeName !== undefined) {
    chosen.push('`nodeName`');
    errors.push(
      ...invalidEach(at.child('nodeName'), nodeName, validation.isDNS1123Subdomain(nodeName)),
    );
  }
  if (selector !== undefined) {
    chosen.push('`nodeSelector`');
    errors.push(...nodeSelector(selector, at.child('nodeSelector')));
  }
  if (allNodes === true) chosen.push('`allNodes`');
  else if (allNodes === false)
    errors.push(field.invalid(at.child('allNodes'), false, UNSET_OR_TRUE));
  if (chosen.length === 0) errors.push(field.required(at, WHERE_DEVICE));
  if (chosen.length > 1) errors.push(field.invalid(at, `{${chosen.join(', ')}}`, WHERE_DEVICE));
  return errors;
}

function attributeRules(attribute: Attribute, at: FieldPath): FieldErrorList {
  const { string: text, version } = attribute;
  const errors: FieldErrorList = [];
  const atMost = (value: string | undefined, path: FieldPath): FieldErrorList =>
    Buffer.byteLength(value ?? '') > MAX_ATTRIBUTE_VALUE
      ? [field.tooLong(path, '', MAX_ATTRIBUTE_VALUE)]
      : [];
  errors.push(...atMost(text, at.child('string')));
  if (version !== undefined && !SEMANTIC_VERSION.test(version)) {
    errors.push(
      field.invalid(
        at.child('version'),
        version,
        'must be a string compatible with semver.org spec 2.0.0',
      ),
    );
  }
  errors.push(...atMost(version, at.child('version')));
  const count = [attribute.bool, attribute.int, text, version].filter(
    (value) => value !== undefined,
  ).length;
  if (count !== 1)
    errors.push(
      field.invalid(at, count === 0 ? '' : attribute, 'exactly one value must be specified'),
    );
  return errors;
}
