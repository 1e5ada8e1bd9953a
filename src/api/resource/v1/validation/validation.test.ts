// What is wrong with claims, slices and classes of devices, in Kubernetes' words: each line is a change to one that is good, and the
// errors that it has then.

import { describe, expect, test } from 'vitest';

import { applyMergePatch } from '../../../../machinery/merge-patch.ts';
import { decodeObject } from '../../../codec/index.ts';
import { newDefaultScheme } from '../../../default-scheme.ts';
import { messageDescriptor } from '../../../schema/compile.ts';
import { messages } from '../../../testing/manifest.ts';
import type * as resource from '../types.ts';
import * as validation from './index.ts';

const scheme = newDefaultScheme();

function make<T extends object>(kind: string, base: object, patch: object): T {
  const message = messageDescriptor(`resource/v1.${kind}`);
  const { object, unknownFields } = decodeObject<T>(message, applyMergePatch(base, patch));
  expect(unknownFields).toEqual([]);
  if (message.gvk !== undefined) scheme.applyDefaults(message.gvk, object);
  return object;
}

const metadata = { name: 'it', namespace: 'default' };
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const NO_NAME: string = expect.stringContaining('Invalid value: "": a lowercase RFC 1123 subdomain must consist');
const NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const range = <T>(count: number, of: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => of(index));
const UID = '00000000-0000-0000-0000-00000000000a';

describe('claims', () => {
  const exactly = { deviceClassName: 'c' };
  const request = { name: 'r', exactly };
  const good = { metadata, spec: { devices: { requests: [request] } } };
  const claim = (devices: object): resource.ResourceClaim => make('ResourceClaim', good, { spec: { devices } });
  const check = (devices: object): string[] =>
    messages(validation.validateResourceClaim(claim(devices))).map((message) => message.replace('spec.devices.', ''));
  const asking = (change: object): object => ({ requests: [{ name: 'r', exactly: { ...exactly, ...change } }] });
  const constraint = (change: object): object => ({ constraints: [change] });
  const config = (change: object): object => ({ config: [change] });
  const opaque = { driver: 'd.example.com', parameters: { a: 1 } };

  test.each<[devices: object, errors: readonly string[]]>([
    [{}, []],
    [{ requests: range(32, (index) => ({ name: `r${index}`, exactly })) }, []],
    [
      { requests: range(33, (index) => ({ name: `r${index}`, exactly })) },
      ['requests: Too many: 33: must have at most 32 items'],
    ],
    [{ requests: [request, request] }, ['requests[1]: Duplicate value: "r"']],
    [{ requests: [{ name: '*', exactly }] }, [`requests[0].name: Invalid value: "*": ${LABEL}`]],
    [{ requests: [{ name: 'r' }] }, ['requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required']],
    [
      { requests: [{ ...request, firstAvailable: [{ name: 'a', ...exactly }] }] },
      ['requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set'],
    ],
    [
      { requests: [{ name: 'r', firstAvailable: range(9, (index) => ({ name: `a${index}`, ...exactly })) }] },
      ['requests[0].firstAvailable: Too many: 9: must have at most 8 items'],
    ],
    [asking({ deviceClassName: '' }), ['requests[0].exactly.deviceClassName: Required value']],
    [asking({ count: -1 }), ['requests[0].exactly.count: Invalid value: -1: must be greater than zero']],
    [
      asking({ allocationMode: 'All', count: 2 }),
      ["requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"],
    ],
    [
      asking({ allocationMode: 'other' }),
      ['requests[0].exactly.allocationMode: Unsupported value: "other": supported values: "All", "ExactCount"'],
    ],
    [asking({ selectors: [{}] }), ['requests[0].exactly.selectors[0].cel: Required value']],
    [
      asking({ selectors: [{ cel: { expression: 'x'.repeat(10 * 1024 + 1) } }] }),
      ['requests[0].exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes'],
    ],
    [
      asking({ selectors: range(33, () => ({ cel: { expression: 'true' } })) }),
      ['requests[0].exactly.selectors: Too many: 33: must have at most 32 items'],
    ],
    [
      asking({ tolerations: [{ operator: 'Exists', value: 'a' }] }),
      ['requests[0].exactly.tolerations[0].value: Invalid value: "a": must be empty for operator `Exists`'],
    ],
    [
      asking({ tolerations: [{ operator: 'x', effect: 'y' }] }),
      [
        'requests[0].exactly.tolerations[0].operator: Unsupported value: "x": supported values: "Equal", "Exists"',
        'requests[0].exactly.tolerations[0].effect: Unsupported value: "y": supported values: "NoExecute", "NoSchedule", "None"',
      ],
    ],
    [constraint({ requests: ['r'], matchAttribute: 'example.com/a' }), []],
    [
      constraint({ matchAttribute: 'a' }),
      [
        'constraints[0].matchAttribute: Invalid value: "a": a fully qualified name must be a domain and a name separated by a slash',
      ],
    ],
    [
      constraint({}),
      [
        'constraints[0]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
      ],
    ],
    [
      constraint({ requests: ['x', 'x'], distinctAttribute: 'example.com/a' }),
      [
        `constraints[0].requests[0]: Invalid value: "x": ${NO_REQUEST}`,
        `constraints[0].requests[1]: Invalid value: "x": ${NO_REQUEST}`,
        'constraints[0].requests[1]: Duplicate value: "x"',
      ],
    ],
    [config({ opaque }), []],
    [config({}), ['config[0].opaque: Required value']],
    [config({ requests: ['a/b/c'], opaque }), [`config[0].requests[0]: Invalid value: "a/b/c": ${NO_REQUEST}`]],
    [config({ opaque: { ...opaque, driver: '' } }), ['config[0].opaque.driver: Required value', NO_NAME]],
    [
      config({ opaque: { ...opaque, parameters: { a: 'x'.repeat(10 * 1024) } } }),
      ['config[0].opaque.parameters: Too long: may not be more than 10240 bytes'],
    ],
  ])('%j', (devices, errors) => {
    expect(check(devices)).toEqual(errors);
  });

  test('what was asked for stays', () => {
    const other = claim(asking({ count: 2 }));
    expect(validation.validateResourceClaimUpdate(claim({}), claim({}))).toEqual([]);
    expect(validation.validateResourceClaimUpdate(other, claim({})).map(({ field }) => field)).toEqual(['spec']);
  });

  test('alternatives are named with what they are alternatives of', () => {
    const requests = [{ name: 'r', firstAvailable: [{ name: 'a', ...exactly }] }];
    const attribute = { matchAttribute: 'example.com/a' };
    expect(check({ requests, constraints: [{ requests: ['r', 'r/a'], ...attribute }] })).toEqual([]);
    expect(check({ requests, constraints: [{ requests: ['r/b'], ...attribute }] })).toEqual([
      `constraints[0].requests[0]: Invalid value: "r/b": ${NO_REQUEST}`,
    ]);
  });

  const result = { request: 'r', driver: 'd', pool: 'p', device: 'x' };
  const allocation = { devices: { results: [result] } };
  const consumer = { resource: 'pods', name: 'a', uid: '1' };
  const device = { driver: 'd', pool: 'p', device: 'x', conditions: [] };
  const allocated = (change: object): object => ({ allocation: { devices: { results: [{ ...result, ...change }] } } });

  test.each<[status: object, errors: readonly string[]]>([
    [{ allocation, reservedFor: [consumer], devices: [device] }, []],
    [{ reservedFor: [consumer] }, ['status.reservedFor: Forbidden: may not be specified when `allocated` is not set']],
    [{ allocation, reservedFor: [consumer, consumer] }, ['status.reservedFor[1]: Duplicate value: "1"']],
    [
      { allocation, reservedFor: [{ resource: '', name: '', uid: '' }] },
      [
        'status.reservedFor[0].resource: Required value',
        'status.reservedFor[0].name: Required value',
        'status.reservedFor[0].uid: Required value',
      ],
    ],
    [
      { allocation, reservedFor: range(257, (index) => ({ ...consumer, uid: `u${index}` })) },
      ['status.reservedFor: Too many: 257: must have at most 256 items'],
    ],
    [allocated({ request: 'x' }), [`status.allocation.devices.results[0].request: Invalid value: "x": ${NO_REQUEST}`]],
    [allocated({ pool: '' }), ['status.allocation.devices.results[0].pool: Required value']],
    [allocated({ shareID: UID }), []],
    [
      allocated({ shareID: 'x' }),
      ['status.allocation.devices.results[0].shareID: Invalid value: "x": error validating uid: invalid UUID length: 1'],
    ],
    [
      allocated({ bindingConditions: ['a'] }),
      [
        'status.allocation.devices.results[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions',
      ],
    ],
    [
      allocated({ bindingConditions: ['a'], bindingFailureConditions: ['a'] }),
      [
        'status.allocation.devices.results[0].bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
      ],
    ],
    [
      { allocation: { devices: { config: [{ source: 'x', opaque }] } } },
      ['status.allocation.devices.config[0].source: Unsupported value: "x": supported values: "FromClaim", "FromClass"'],
    ],
    [{ devices: [device] }, ['status.devices[0]: Invalid value: "d/p/x": must be an allocated device in the claim']],
    [
      { allocation, devices: [{ ...device, networkData: { ips: ['1.2.3.4', '2001:db8::/64', '2001:DB8::1/64'] } }] },
      [
        'status.devices[0].networkData.ips[0]: Invalid value: "1.2.3.4": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
        'status.devices[0].networkData.ips[2]: Invalid value: "2001:DB8::1/64": must be in canonical form ("2001:db8::1/64")',
      ],
    ],
  ])('status %j', (status, errors) => {
    const old = claim({});
    expect(messages(validation.validateResourceClaimStatus(make('ResourceClaim', good, { status }), old))).toEqual(errors);
  });

  test('what is allocated stays until it is given back', () => {
    const old = make<resource.ResourceClaim>('ResourceClaim', good, { status: { allocation } });
    const other = make<resource.ResourceClaim>('ResourceClaim', good, { status: allocated({ pool: 'q' }) });
    expect(validation.validateResourceClaimStatus(other, old).map(({ field }) => field)).toEqual(['status.allocation']);
    expect(validation.validateResourceClaimStatus(claim({}), old)).toEqual([]);
    const dying = make<resource.ResourceClaim>('ResourceClaim', good, {
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { allocation, reservedFor: [consumer] },
    });
    expect(messages(validation.validateResourceClaimStatus(dying, old))).toEqual([
      'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
    ]);
  });

  test('templates', () => {
    const template = (change: object): resource.ResourceClaimTemplate =>
      make('ResourceClaimTemplate', { metadata, spec: { spec: good.spec } }, { spec: change });
    const found = (change: object): string[] => messages(validation.validateResourceClaimTemplate(template(change)));
    expect(found({ metadata: { labels: { a: 'b' } } })).toEqual([]);
    expect(found({ metadata: { finalizers: ['a/b'] } })).toEqual(['spec.metadata.Finalizers: Forbidden: cannot be set']);
    expect(found({ spec: { devices: { requests: [{ name: 'r' }] } } })).toHaveLength(1);
    const changed = template({ metadata: { labels: { a: 'b' } } });
    expect(validation.validateResourceClaimTemplateUpdate(changed, template({})).map(({ field }) => field)).toEqual(['spec']);
  });
});

describe('classes', () => {
  const check = (spec: object): string[] =>
    messages(validation.validateDeviceClass(make('DeviceClass', { metadata: { name: 'it' }, spec: {} }, { spec })));
  test.each<[spec: object, errors: readonly string[]]>([
    [{}, []],
    [{ extendedResourceName: 'example.com/gpu' }, []],
    [
      { extendedResourceName: 'gpu' },
      ['spec.extendedResourceName: Invalid value: "gpu": must be a valid extended resource name'],
    ],
    [{ config: [{}] }, ['spec.config[0].opaque: Required value']],
    [{ selectors: [{}] }, ['spec.selectors[0].cel: Required value']],
  ])('%j', (spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });
});

describe('slices', () => {
  const good = {
    metadata: { name: 'it' },
    spec: { driver: 'd.example.com', pool: { name: 'p', generation: 0, resourceSliceCount: 1 }, nodeName: 'n', devices: [] },
  };
  const slice = (spec: object): resource.ResourceSlice => make('ResourceSlice', good, { spec });
  const check = (spec: object): string[] =>
    messages(validation.validateResourceSlice(slice(spec))).map((message) => message.replace('spec.devices[0]', 'device'));
  const device = (change: object): object => ({ devices: [{ name: 'a', ...change }] });
  const attribute = (change: object): object => device({ attributes: { a: change } });
  const policy = (requestPolicy: object): object =>
    device({ allowMultipleAllocations: true, capacity: { a: { value: '100', requestPolicy } } });
  const AT = 'device.capacity[a].requestPolicy';

  test.each<[spec: object, errors: readonly string[]]>([
    [{}, []],
    [{ driver: '' }, ['spec.driver: Required value', NO_NAME]],
    [{ pool: { name: '' } }, ['spec.pool.name: Required value']],
    [
      { pool: { generation: -1, resourceSliceCount: 0 } },
      [
        'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
        'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
      ],
    ],
    [
      { nodeName: null },
      ['spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'],
    ],
    [{ nodeName: null, allNodes: true }, []],
    [{ allNodes: false }, ['spec.allNodes: Invalid value: false: must be either unset or set to true']],
    [
      { allNodes: true },
      [
        'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
      ],
    ],
    [{ devices: range(128, (index) => ({ name: `d${index}` })) }, []],
    [{ devices: range(129, (index) => ({ name: `d${index}` })) }, ['spec.devices: Too many: 129: must have at most 128 items']],
    [
      { devices: range(65, (index) => ({ name: `d${index}`, taints: [{ key: 'a', effect: 'NoSchedule' }] })) },
      ['spec.devices: Too many: 65: must have at most 64 items'],
    ],
    [{ devices: [{ name: 'a' }, { name: 'a' }] }, ['spec.devices[1]: Duplicate value: "a"']],
    [device({ name: '-' }), [`device.name: Invalid value: "-": ${LABEL}`]],
    [attribute({ bool: false }), []],
    [attribute({}), ['device.attributes[a]: Invalid value: "": exactly one value must be specified']],
    [
      attribute({ int: 1, string: 'x' }),
      ['device.attributes[a]: Invalid value: {"int":1,"string":"x"}: exactly one value must be specified'],
    ],
    [attribute({ version: '1.2.3-rc.1+build' }), []],
    [
      attribute({ version: '1.2' }),
      ['device.attributes[a].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0'],
    ],
    [attribute({ string: 'x'.repeat(65) }), ['device.attributes[a].string: Too long: may not be more than 64 bytes']],
    [
      device({ attributes: { 'a/b/c': { bool: true } } }),
      ['device.attributes: Invalid value: "a/b/c": must not contain more than one slash'],
    ],
    [device({ attributes: { '/b': { bool: true } } }), ['device.attributes: Invalid value: "": the domain must not be empty']],
    [
      device({ attributes: Object.fromEntries(range(33, (index) => [`a${index}`, { bool: true }])) }),
      ['device: Invalid value: 33: the total number of attributes and capacities must not exceed 32'],
    ],
    [device({ taints: [{ key: 'a', effect: '' }] }), ['device.taints[0].effect: Required value']],
    [
      device({ taints: [{ key: 'a', effect: 'x' }] }),
      ['device.taints[0].effect: Unsupported value: "x": supported values: "NoExecute", "NoSchedule", "None"'],
    ],
    [
      device({ nodeName: 'n' }),
      [
        'device: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      ],
    ],
    [{ nodeName: null, perDeviceNodeSelection: true, ...device({ allNodes: true }) }, []],
    [
      { nodeName: null, perDeviceNodeSelection: true, ...device({}) },
      [
        'device: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      ],
    ],
    [{ devices: null, sharedCounters: [{ name: 'a', counters: { b: { value: '1' } } }] }, []],
    [
      { devices: null, sharedCounters: [{ name: '', counters: {} }] },
      ['spec.sharedCounters[0].name: Required value', 'spec.sharedCounters[0].counters: Required value'],
    ],
    [
      device({ consumesCounters: range(3, (index) => ({ counterSet: `c${index}`, counters: { b: { value: '1' } } })) }),
      ['device.consumesCounters: Too many: 3: must have at most 2 items'],
    ],
    [
      device({ capacity: { a: { value: '1', requestPolicy: { default: '1' } } } }),
      [`${AT}: Forbidden: allowMultipleAllocations must be true`],
    ],
    [policy({ default: '1', validValues: ['1', '2'] }), []],
    [policy({ validValues: ['1'] }), [`${AT}.default: Required value: required when validValues is defined`]],
    [
      policy({ default: '3', validValues: ['2', '1', '200'] }),
      [
        `${AT}.validValues[1]: Invalid value: "1": values must be sorted in ascending order`,
        `${AT}.validValues[2]: Invalid value: "200": option is larger than capacity value: 100`,
        `${AT}.validValues: Invalid value: "3": default value is not valid according to the requestPolicy`,
      ],
    ],
    [
      policy({ default: '1', validValues: ['1'], validRange: { min: '1' } }),
      [`${AT}: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`],
    ],
    [policy({ default: '10', validRange: { min: '10', max: '50', step: '5' } }), []],
    [policy({ default: '10', validRange: {} }), [`${AT}.validRange.min: Required value: required when validRange is defined`]],
    [
      policy({ default: '5', validRange: { min: '10', max: '200' } }),
      [
        `${AT}.validRange.default: Invalid value: "5": default is less than min: 10`,
        `${AT}.validRange.max: Invalid value: "200": max is larger than capacity value: 100`,
      ],
    ],
    [
      policy({ default: '12', validRange: { min: '10', step: '5' } }),
      [`${AT}.validRange.step: Invalid value: "12": value is not a multiple of a given step (5) from (10)`],
    ],
    [
      policy({ default: '10', validRange: { min: '10', step: '0' } }),
      [`${AT}.validRange.step: Invalid value: "0": must be greater than zero`],
    ],
  ])('%j', (spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });

  test('what stays', () => {
    const found = validation.validateResourceSlice(
      slice({ driver: 'e.example.com', pool: { name: 'q' }, nodeName: 'm' }),
      slice({}),
    );
    expect(found.map(({ field }) => field)).toEqual(['spec.pool.name', 'spec.driver', 'spec.nodeName']);
  });
});
